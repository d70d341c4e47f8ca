"""A replay judge from an exported verdict log: the replies of an earlier run, to be read again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datasheet.errors import VerdictLogError
from datasheet.exchange.calls import CallColumns, count_of, seconds_of
from datasheet.exchange.json_lines import json_lines
from datasheet.exchange.verdict_log import read_header
from datasheet.judge.completion import checked_candidates
from datasheet.judge.replay import ReplayJudge
from datasheet.records import Reply

_IDENTITY = ("adapter", "model", "decoding")


def replay_judge(path: Path) -> ReplayJudge:
    """The judge whose replies a log holds.

    Raises
    ------
    VerdictLogError
        The log was not written by ``datasheet log export``, or without the raw replies.
    """
    header, rows = read_header(json_lines(path), path.name)
    if not all(field in header for field in _IDENTITY):
        raise VerdictLogError(
            f"{path.name} can't be replayed: expected a log of `datasheet log export` with the judge's "
            f"{', '.join(_IDENTITY)} in its first line. For a log made elsewhere use `datasheet analyze`"
        )
    replies, calls = {}, CallColumns()
    for number, row in rows:
        replies[str(row.get("trial"))] = _reply(row, f"{path.name} line {number}")
        calls.add(row)
    return ReplayJudge(
        replies,
        adapter=str(header["adapter"]),
        model=str(header["model"]),
        decoding=header["decoding"] if isinstance(header["decoding"], dict) else {},
        simulated=bool(header.get("simulated")),
        source=path.name,
        dates=tuple(sorted(calls.dates)),
    )


def _reply(row: Mapping[str, Any], where: str) -> Reply:
    if not isinstance(row.get("raw"), str) or not isinstance(row.get("trial"), str):
        raise VerdictLogError(
            f"{where}: can't be replayed without the fields 'trial' and 'raw' (the judge's own words)"
        )
    return Reply(
        text=row["raw"],
        finish_reason=_words(row, "finish_reason"),
        refusal=_words(row, "refusal"),
        reasoning=_words(row, "reasoning"),
        fingerprint=_words(row, "fingerprint"),
        model=_words(row, "reported_model"),
        prompt_tokens=count_of(row.get("prompt_tokens")),
        cached_tokens=count_of(row.get("cached_tokens")),
        completion_tokens=count_of(row.get("completion_tokens")),
        latency_s=seconds_of(row.get("latency_s")) or 0.0,
        logprobs=_candidates(row.get("logprobs")),
    )


def _candidates(listed: object) -> tuple[tuple[str, float], ...]:
    """Candidates as the export writes them; none where they are anything else."""
    pairs = listed if isinstance(listed, list) else []
    well_formed = all(
        isinstance(pair, list) and [type(part) for part in pair] in ([str, float], [str, int]) for pair in pairs
    )
    return checked_candidates((token, logprob) for token, logprob in pairs) if well_formed else ()


def _words(row: Mapping[str, Any], field: str) -> str:
    return str(row.get(field) or "")
