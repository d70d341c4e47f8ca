"""Reads a ranking call: {"ordered_models": [{"model": "m", "rank": 1}, {"model": "M", "rank": 2}]}."""

from __future__ import annotations

from typing import Any

from datasheet.prompts.parsing.json_reply import member_values
from datasheet.prompts.parsing.labels import match_label
from datasheet.prompts.parsing.reasons import NoReadingError
from datasheet.prompts.parsing.schema import Schema
from datasheet.records import Outcome, Verdict


def read_ranking(cleaned: str, schema: Schema, cut_off: bool) -> Verdict:
    """The answer with the lower rank (1 is the best); equal ranks are a tie.

    Raises
    ------
    NoReadingError
        There is no ranking, it leaves out an answer or ranks one twice, or rankings differ.
    """
    rankings = [_ranks(value, schema) for value in member_values(cleaned, ("ordered_models",))]
    if not rankings:
        raise NoReadingError("no_verdict")
    if any(ranks != rankings[0] for ranks in rankings):
        raise NoReadingError("conflicting")
    first, second = rankings[0]["first"], rankings[0]["second"]
    return Verdict(outcome="first" if first < second else "second" if second < first else "tie")


def _ranks(value: Any, schema: Schema) -> dict[Outcome, float]:
    """The rank of each answer; each is ranked, and once."""
    ranks: dict[Outcome, float] = {}
    for member in value if isinstance(value, list) else ():
        entry = dict(member) if isinstance(member, list) and all(isinstance(pair, tuple) for pair in member) else {}
        name, rank = entry.get("model"), entry.get("rank")
        label = match_label(name, schema) if isinstance(name, str) else None
        if label is None or not isinstance(rank, float):
            raise NoReadingError("not_allowed")
        if schema.labels[label] in ranks:
            raise NoReadingError("conflicting")
        ranks[schema.labels[label]] = rank
    if set(ranks) != {"first", "second"}:
        raise NoReadingError("no_verdict")
    return ranks
