"""What stands beside the figures of a sheet: who was measured, with what, when, and with which software."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from datasheet import __version__
from datasheet.readings import Readings
from datasheet.sheet.build import SheetContext

LOG_NAME = "trials.sqlite"
"""The trial log in a sheet's folder."""

NOT_GIVEN = "not given"
_JUDGE_TEXTS = ("adapter", "model", "prompt_hash", "rubric_hash")
_HASHES = ("judge_id", "prompt_hash", "rubric_hash", "bank_hash")


def software() -> dict[str, str]:
    """Versions that the figures depend on."""
    return {
        "package": f"judge-datasheet {__version__}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy")},
        "platform": sys.platform,
    }


def sheet_context(
    facts: Mapping[str, Any],
    readings: Readings,
    *,
    command: str,
    parser: str,
    operation: Mapping[str, Any] | None,
    reported_models: Sequence[str],
    gates: Sequence[str],
    notes: Sequence[str] = (),
    planned: int | None = None,
    provenance: Mapping[str, str] | None = None,
) -> SheetContext:
    """The context of a sheet.

    Parameters
    ----------
    facts
        What a trial log's instrument or a verdict log's first line says: judge, judge_id, prompt, adapter, model,
        decoding, simulated, the hashes, bank, design, seed, repeats. What is missing, or is not what it should be, is
        "not given".
    planned
        Trials of the plan; None where there was none.
    """
    dates = operation or {}
    return SheetContext(
        judge=_judge(facts, readings, reported_models),
        bank=_bank(facts, readings),
        design={
            "name": _text(facts, "design"),
            "seed": _whole(facts, "seed"),
            "repeats": _whole(facts, "repeats"),
            "planned": planned,
            "answered": len(readings),
            "unanswered": None if planned is None else planned - len(readings),
        },
        operation=operation,
        gates=list(gates),
        notes=list(notes),
        provenance={
            "command": command,
            **software(),
            "parser": parser,
            **{field: facts[field] for field in _HASHES if isinstance(facts.get(field), str)},
            "first_trial": dates.get("first_at"),
            "last_trial": dates.get("last_at"),
            **(provenance or {}),
        },
    )


def _judge(facts: Mapping[str, Any], readings: Readings, reported_models: Sequence[str]) -> dict[str, Any]:
    return {
        "name": _text(facts, "judge"),
        "judge_id": _text(facts, "judge_id"),
        "prompt": _text(facts, "prompt", otherwise=""),
        "decoding": _decoding(facts),
        "simulated": facts.get("simulated") in (True, "yes"),
        "ties_allowed": readings.ties_allowed,
        "reported_models": list(reported_models),
        **{field: facts[field] for field in _JUDGE_TEXTS if isinstance(facts.get(field), str)},
    }


def _bank(facts: Mapping[str, Any], readings: Readings) -> dict[str, Any]:
    language = facts.get("language")
    return {
        "name": _text(facts, "bank"),
        "hash": _text(facts, "bank_hash"),
        **({"language": language} if isinstance(language, str) else {}),
        "tasks": len(readings.tasks),
        "validated_by_people": False,
    }


def _text(facts: Mapping[str, Any], field: str, *, otherwise: str = NOT_GIVEN) -> str:
    value = facts.get(field)
    return value if isinstance(value, str) and value else otherwise


def _whole(facts: Mapping[str, Any], field: str) -> int | None:
    """A whole number, also where it was kept as text."""
    value = facts.get(field)
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _decoding(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Decoding settings, also where they were kept as JSON."""
    value = facts.get("decoding")
    if isinstance(value, str):
        value = json.loads(value)
    return value if isinstance(value, dict) else {}
