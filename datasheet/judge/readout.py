"""The candidates that a simulated observer lists at its first token: an ordered-logit readout of its evidence.

With evidence x for the answer shown first, criterion c and readout scale s, the label of the first answer has the
probability 1 / (1 + exp(-(x - c) / s)), that of the second 1 / (1 + exp((x + c) / s)), and that of a tie the rest. A
side is the verdict where its label has more than half of it; else the tie is, even where a criterion that is small
beside the readout scale leaves a side likelier than the tie. The labels are spelt in more ways than one, and a little
mass goes to words that are no label, of which there are more than a server lists.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import exp, expm1, inf, log, log1p

from datasheet.records import Outcome

Candidates = tuple[tuple[str, float], ...]

_NO_LABEL = 0.005
"""Probability of all words that are no label."""

_WORDS = (
    *("Thank", "The", "Answer", "I", "Both", "Neither", "It", "This", "My", "Based", "Verdict", "Overall", "After"),
    *("Comparing", "In", "Given", "Sure", "We", "Looking", "On", "First", "Final", "Option", "Response", "To", "As"),
)
_SPELLINGS = ((str, 0.9), (" {}".format, 0.08), (str.lower, 0.02))


def label_shares(evidence: float, criterion: float, scale: float, allowed: Collection[Outcome]) -> dict[Outcome, float]:
    """Log-probabilities of the outcomes that the prompt allows; without a tie the sides share all."""
    if "tie" not in allowed:
        criterion = 0.0
    first, second = -_softplus((criterion - evidence) / scale), -_softplus((criterion + evidence) / scale)
    shares: dict[Outcome, float] = {"first": first, "second": second}
    if "tie" in allowed and criterion > 0:
        # 1 - p - q of two logistic shares is p q (exp(2 c / s) - 1): no difference of nearly equal numbers.
        width = 2 * criterion / scale
        shares["tie"] = first + second + (width + log1p(-exp(-width)) if width > 1 else log(expm1(width)))
    return shares


def lapsed_shares(written: Outcome, allowed: Collection[Outcome]) -> dict[Outcome, float]:
    """Log-probabilities where the outcome was drawn at random: half for the one that was, the rest for others."""
    return {outcome: log(0.5) if outcome == written else log(0.5 / max(len(allowed) - 1, 1)) for outcome in allowed}


def candidates(labels: Mapping[str, float], most: int) -> Candidates:
    """The likeliest tokens and their log-probabilities, those of labels among them; without labels, words alone."""
    rest = log(_NO_LABEL) if labels else 0.0
    known = {label.strip().casefold() for label in labels}
    found: dict[str, float] = {}
    for label, share in labels.items():
        for spelt, part in _SPELLINGS:
            token = spelt(label)
            mass = share + log1p(-_NO_LABEL) + log(part)
            found[token] = max(found.get(token, -inf), mass)
    words = [word for word in _WORDS if word.casefold() not in known]
    found |= {word: rest - (place + 1) * log(2) for place, word in enumerate(words)}
    ranked = sorted(found.items(), key=lambda candidate: (-candidate[1], candidate[0]))
    return tuple((token, share) for token, share in ranked[:most] if share > -inf)


def _softplus(x: float) -> float:
    return max(x, 0.0) + log1p(exp(-abs(x)))
