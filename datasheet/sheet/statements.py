"""The sentences of the sheet: the summary, the limits of use, and what it does not claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from datasheet.analysis.characterise import Characterisation

LIMITS_OF_USE = (
    "Not where the truth can be checked by running, computing or looking it up: check it there.",
    "Not for decisions that can't be undone.",
    "Not between the two best models of the judge's own family.",
    "Not where people disagree on what the rubric means: mend the rubric first.",
)


_UNVERIFIED = (
    "UNVERIFIED SERVER: its certificate was not checked (tls verify = false), so that anyone on the way may have "
    "answered in its place."
)
_SAID_BY = {
    "presentation-conflicted": ("positional",),
    "mixed stable-positional": ("positional", "surface-sensitive"),
}
"""Flags that a profile's name says already."""


def non_claims(bank: Mapping[str, Any], judge: Mapping[str, Any]) -> tuple[str, ...]:
    """What a reader must not take the sheet for."""
    claims = [
        "Descriptive for this instrument (model, prompt, rubric, decoding settings) on this family of stimuli.",
        "No ranking of judges, and no trend of size or family.",
        "No mechanism behind a downstream result.",
        "Not agreement with people: that needs calibration on labelled pairs.",
        "The ladder is built, not sampled from real traffic.",
        "A threshold printed with ≤ or > is a bound, not a value.",
        "Low and high are intervals at the stated confidence, not guaranteed limits.",
    ]
    if not bank.get("validated_by_people"):
        claims.append("Ladder not validated by people: no one has yet confirmed its steps in a blind check.")
    if judge.get("simulated"):
        claims.append("SIMULATED: the readings come from a simulated observer, not from a model.")
    if _is_unverified(judge):
        claims.append(_UNVERIFIED)
    return tuple(claims)


def summary_sentence(judge: Mapping[str, Any], found: Characterisation) -> str:
    """The first lines of the sheet: the profile in words, and every other flag that is raised."""
    profile = found.profile
    said = {profile.name, *_SAID_BY.get(profile.name, ())}
    others = [flag.name for flag in profile.flags if flag.state == "raised" and flag.name not in said]
    also = f" Also raised: {', '.join(others)}." if others else ""
    prompt = f" under prompt {judge['prompt']}" if judge["prompt"] else ""
    warning = f"{_UNVERIFIED} " if _is_unverified(judge) else ""
    return f"{warning}{judge['name']}{prompt}: {profile.name}. {profile.sentence}{also}"


def _is_unverified(judge: Mapping[str, Any]) -> bool:
    return judge.get("decoding", {}).get("certificate_verified") is False
