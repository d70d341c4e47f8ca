"""The labels of a prompt among the candidates at the first token of a reply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import exp, fsum, inf, log

from datasheet.prompts.variant import PromptVariant
from datasheet.records import LabelLogProbabilities, Outcome, Reply

_MOST_EXCESS = 0.05
"""Logarithm of the most that the listed probabilities may sum to."""

_WORD_STARTS = " \n\t▁Ġ"  # a space, and what tokenizers write for one


def read_labels(variant: PromptVariant, reply: Reply) -> LabelLogProbabilities | None:
    """What a reply's candidates say of the variant's labels.

    An abstention reads as a tie, as in a verdict. None where the reply has no candidates, or the variant's verdict is
    not its first token.
    """
    if variant.schema != "single_token" or not reply.logprobs:
        return None
    offered: dict[str, Outcome] = dict(variant.labels)
    if variant.abstention is not None:
        offered[variant.abstention] = "tie"
    return label_log_probabilities(reply.logprobs, offered)


def label_log_probabilities(
    candidates: Iterable[tuple[str, float]], labels: Mapping[str, Outcome]
) -> LabelLogProbabilities | None:
    """Sums over the ways to write each label (``"A"``, ``" A"``, ``"a"``) in candidates.

    Case counts where two labels differ by nothing else. Probabilities that sum to a little more than 1, as rounded ones
    may, are scaled down to it; None where they sum to more than rounding explains, or where there are none.
    """
    written = {label.strip(_WORD_STARTS): outcome for label, outcome in labels.items()}
    folded = {label.casefold(): outcome for label, outcome in written.items()}
    meaning, fold = (folded, str.casefold) if len(folded) == len(labels) else (written, str)
    listed: dict[Outcome, list[float]] = {"first": [], "tie": [], "second": []}
    logprobs = list(candidates)
    for token, logprob in logprobs:
        outcome = meaning.get(fold(token.strip(_WORD_STARTS)))
        if outcome is not None:
            listed[outcome].append(logprob)
    sums = {outcome: _log_sum(found) for outcome, found in listed.items()}
    excess = max(0.0, _log_sum(sums.values()))
    if not logprobs or excess > _MOST_EXCESS:
        return None
    return LabelLogProbabilities(
        first=sums["first"] - excess,
        tie=sums["tie"] - excess,
        second=sums["second"] - excess,
        floor=min(logprob for _, logprob in logprobs) - excess,
    )


def _log_sum(logprobs: Iterable[float]) -> float:
    """Logarithm of the sum of probabilities; -inf of none."""
    finite = [logprob for logprob in logprobs if logprob > -inf]
    top = max(finite, default=-inf)
    return top + log(fsum(exp(logprob - top) for logprob in finite)) if finite else -inf
