"""The fields of a verdict log: what each must be, and the readings that rows of them make."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import inf, log
from typing import Any

from datasheet.errors import VerdictLogError
from datasheet.label_columns import MASS_TOLERANCE, PRINTED_TOLERANCE
from datasheet.records import ORDERS, OUTCOMES, PROBES, LabelLogProbabilities

DEFAULT_ARM = {"ladder": "prefix", "same_quality": "same_subset"}
"""What a row without an arm is read as: the arms of the published protocol."""

KNOWN_UNUSED = (
    *("answer_a", "answer_b", "maker_a", "maker_b", "human", "humans", "raw", "strength", "slice", "at"),
    *("score_a", "score_b", "checklist_a", "checklist_b", "reported_model"),
    *("trial", "finish_reason", "refusal", "prompt_tokens", "completion_tokens", "latency_s", "fingerprint"),
    *("cached_tokens", "reasoning", "logprobs", "from_batch"),
)
"""Fields of the format that the analysis does not use."""

_EQUAL = ("vacuum", "same_quality", "channel")
"""Probes whose answers are of equal quality: a preference there is counted as one for nothing, or for the dose."""

_ARM = re.compile(r"[A-Za-z0-9_-]{0,40}")
_UNEXPLAINED = "unexplained"
_SHARES = ("p_first", "p_tie", "p_second")


def text_of(value: Any, field: str, where: str) -> str | None:
    """The value of a text field; a whole number, such as an id, is taken as its digits.

    Raises
    ------
    VerdictLogError
        It is neither, nor null; the message begins with ``where``.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise VerdictLogError(f"{where}: {field!r} should be text, found {value!r:.80}")


def _boolean(value: Any, field: str, where: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise VerdictLogError(f"{where}: {field!r} should be true or false, found {value!r:.80}")


def _whole(value: Any, field: str, where: str) -> int | None:
    if value is None or (type(value) is int and 0 <= value < 2**31):
        return value
    if type(value) is float and 0 <= value < 2**31 and value.is_integer():
        return int(value)
    raise VerdictLogError(f"{where}: {field!r} should be a whole number of 0 or more, found {value!r:.80}")


def _length(value: Any, field: str, where: str) -> int | None:
    if value is None or (type(value) is int and 0 <= value < 2**31):
        return value
    if type(value) is float and 0 <= value < 2**31 - 0.5:
        return round(value)
    raise VerdictLogError(f"{where}: {field!r} should be a length of 0 or more, found {value!r:.80}")


def _probability(value: Any, field: str, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1 + MASS_TOLERANCE:
        return min(value, 1)
    raise VerdictLogError(f"{where}: {field!r} should be a probability from 0 to 1, found {value!r:.80}")


def _one_of(*allowed: str) -> Callable[[Any, str, str], str]:
    def check(value: Any, field: str, where: str) -> str:
        if isinstance(value, str) and value in allowed:
            return value
        raise VerdictLogError(f"{where}: {field!r} should be one of {', '.join(allowed)}, found {value!r:.80}")

    return check


_outcome = _one_of(*OUTCOMES)


def _verdict(value: Any, field: str, where: str) -> str | None:
    return None if value is None else _outcome(value, field, where)


CHECKS: Mapping[str, Callable[[Any, str, str], Any]] = {
    **dict.fromkeys(("pair", "judge", "prompt", "invalid", "arm", "task"), text_of),
    **dict.fromkeys(("ties_allowed", "abstained"), _boolean),
    **dict.fromkeys(("delta_q", "dose", "level_a", "level_b", "repeat"), _whole),
    **dict.fromkeys(("length_a", "length_b", "filler_b"), _length),
    **dict.fromkeys(("p_first", "p_tie", "p_second", "p_floor"), _probability),
    "order": _one_of(*ORDERS),
    "probe": _one_of(*PROBES),
    "verdict": _verdict,
}
"""The fields that the analysis uses, and what each must be."""


def checked(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The fields of a row that the analysis uses, each found to be what it must be.

    Raises
    ------
    VerdictLogError
        A field is something else; the message begins with ``where``.
    """
    return {field: check(value, field, where) for field, value in row.items() if (check := CHECKS.get(field))}


def complete_reading(given: dict[str, Any], where: str) -> bool:
    """Make the checked fields of a row a whole reading; returns whether its arm was assumed.

    Raises
    ------
    VerdictLogError
        A field is missing, or two do not fit together.
    """
    for needed in ("pair", "order", "verdict", "probe"):
        if needed not in given or (given[needed] is None and needed != "verdict"):
            hint = " (null is an invalid reading)" if needed == "verdict" else ""
            raise VerdictLogError(f"{where}: the field {needed!r} is missing{hint}")
    outcome, invalid, probe, arm = given["verdict"], given.get("invalid"), given["probe"], given.get("arm")
    if outcome is not None and invalid is not None:
        raise VerdictLogError(f"{where}: has the verdict {outcome!r} and is marked invalid ({invalid!r:.80})")
    if outcome == "tie" and given.get("ties_allowed") is False:
        raise VerdictLogError(
            f"{where}: the verdict is a tie, and ties are not allowed (ties_allowed false): "
            "say true, or give an invalid reading as null"
        )
    if arm is not None and (arm in ORDERS or not _ARM.fullmatch(arm)):
        raise VerdictLogError(
            f"{where}: 'arm' should be a name of letters, digits, '_' and '-' (at most 40, not ab or ba), "
            f"found {arm!r:.80}"
        )
    given["stimulus"], given["outcome"] = given["pair"], outcome
    given["invalid"] = (invalid or _UNEXPLAINED) if outcome is None else None
    given["arm"] = DEFAULT_ARM.get(probe, "") if arm is None else arm
    given["abstained"] = given.get("abstained") or False
    given["repeat"] = given.get("repeat") or 0
    given["delta_q"] = _delta_q(given, probe, where)
    given["labels"] = _labels(given, where)
    given["lacks_floor"] = _lacks_floor(given)
    return arm is None and probe in DEFAULT_ARM


def _lacks_floor(given: Mapping[str, Any]) -> bool:
    """Whether a label is not listed, and nobody can tell how likely it may have been at most."""
    listed = [given[field] for field in _SHARES if given.get(field)]
    if not listed or given.get("p_floor") or (sum(listed) >= 1 - MASS_TOLERANCE and len(listed) > 1):
        return False
    needed = _SHARES if given.get("ties_allowed") in (None, True) else ("p_first", "p_second")
    return not all(given.get(field) for field in needed)


def _labels(given: Mapping[str, Any], where: str) -> LabelLogProbabilities | None:
    """Log-probabilities of the labels where a row gives any; what it leaves out lies below p_floor.

    Where a row gives all of them, or all of the probability, nothing lies below and p_floor may be absent. A sum that
    rounding carried beyond 1, to two digits at the worst, is scaled down to it.
    """
    shares = {field: given[field] for field in _SHARES if given.get(field)}
    floor = given.get("p_floor") or min(shares.values(), default=None)
    if floor is None:
        return None
    total = sum(shares.values())
    if total > 1 + PRINTED_TOLERANCE:
        raise VerdictLogError(
            f"{where}: {' + '.join(shares)} should be at most 1 (or {1 + PRINTED_TOLERANCE:g} by rounding), found "
            f"{total:.9g}"
        )
    low = [field for field, share in shares.items() if share < floor * (1 - MASS_TOLERANCE)]
    if low:
        raise VerdictLogError(
            f"{where}: {low[0]!r} is {shares[low[0]]:.6g}, below p_floor {floor:.6g}, the smallest probability that "
            "was listed: leave out (or give as null) what was not listed"
        )
    excess = log(max(1.0, total))
    first, tie, second = (log(shares[field]) - excess if field in shares else -inf for field in _SHARES)
    return LabelLogProbabilities(first=first, tie=tie, second=second, floor=log(floor) - excess)


def _delta_q(given: Mapping[str, Any], probe: str, where: str) -> int | None:
    """Quality steps of a row: as given, or from its levels; they must agree with each other and with the probe."""
    delta_q, level_a, level_b = given.get("delta_q"), given.get("level_a"), given.get("level_b")
    if level_a is not None and level_b is not None:
        if level_a < level_b:
            raise VerdictLogError(f"{where}: answer a must be the better one, found levels {level_a} and {level_b}")
        if delta_q is None:
            delta_q = level_a - level_b
        elif delta_q != level_a - level_b:
            raise VerdictLogError(f"{where}: delta_q {delta_q} is not level_a - level_b = {level_a - level_b}")
    if probe == "ladder" and not delta_q:
        raise VerdictLogError(f"{where}: a ladder row needs delta_q of 1 or more, found {delta_q!r}")
    if probe in _EQUAL and delta_q:
        raise VerdictLogError(
            f"{where}: a {probe} row has delta_q 0, for its answers are of equal quality; found {delta_q}: pairs of "
            "which one is better are of the probe ladder, in an arm of their own if they differ otherwise, too"
        )
    return delta_q
