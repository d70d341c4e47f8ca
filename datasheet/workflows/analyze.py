"""``datasheet analyze``: the same analysis on a log, wherever it was made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasheet.analysis.characterise import characterise
from datasheet.analysis.profile import Limits
from datasheet.exchange.verdict_log import VerdictLog, read_verdict_log
from datasheet.prompts import PARSER
from datasheet.sheet.build import SheetContext, build_sheet
from datasheet.trials.log import TrialLog
from datasheet.workflows.build import LOG_NAME, software
from datasheet.workflows.documents import read_sheet
from datasheet.workflows.logged import read_run, variant_of

LOG_SUFFIXES = (".jsonl", ".ndjson")
_SQLITE = b"SQLite format 3\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """A sheet made of a log, and whether anything but the invalid rate could be measured."""

    sheet: dict[str, Any]
    conclusive: bool


def is_trial_log(path: Path) -> bool:
    """Whether a file is SQLite, as our own logs are."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def analyze(
    path: Path, *, judge: str | None = None, prompt: str | None = None, limits: Limits | None = None
) -> Analysis:
    """The datasheet of a verdict log, or of a trial log (or the folder that holds one).

    Raises
    ------
    DatasheetError
        The log can't be read.
    """
    path = path / LOG_NAME if path.is_dir() else path
    if is_trial_log(path):
        return _of_trial_log(path, limits)
    log = read_verdict_log(path, judge=judge, prompt=prompt)
    found = characterise(log.readings, limits=limits)
    sheet = build_sheet(found, log.readings, _context(log), limits)
    return Analysis(sheet=sheet, conclusive=found.anything_measured)


def _known(header: Mapping[str, Any], *fields: str) -> dict[str, Any]:
    """The header's fields that are plain text."""
    return {field: header[field] for field in fields if isinstance(header.get(field), str)}


def _context(log: VerdictLog) -> SheetContext:
    header, readings = log.header, log.readings
    seed = header.get("seed")
    source = {"log": Path(log.path).name}
    return SheetContext(
        judge={
            "name": log.judge or Path(log.path).stem,
            "judge_id": header.get("judge_id") if isinstance(header.get("judge_id"), str) else "not given",
            "prompt": log.prompt,
            "simulated": header.get("simulated") is True,
            "ties_allowed": readings.ties_allowed,
            **_known(header, "adapter", "model", "prompt_hash", "rubric_hash"),
        },
        bank={
            "name": header.get("bank") if isinstance(header.get("bank"), str) else "not given",
            "hash": header.get("bank_hash") if isinstance(header.get("bank_hash"), str) else "not given",
            "tasks": len(readings.tasks),
            "validated_by_people": False,
        },
        design={
            "name": header.get("design") if isinstance(header.get("design"), str) else "not given",
            "seed": seed if isinstance(seed, int) and not isinstance(seed, bool) else None,
            "planned": None,
            "answered": len(readings),
            "unanswered": None,
        },
        operation=None,
        gates=["not checked: a verdict log holds no texts"],
        provenance={
            "command": "datasheet analyze " + Path(log.path).name,
            **software(),
            **source,
            **_known(header, "judge_id", "prompt_hash", "rubric_hash", "bank_hash", "parser"),
        },
    )


def _of_trial_log(path: Path, limits: Limits | None) -> Analysis:
    with TrialLog.read(path) as log:
        held = log.instrument
        variant = variant_of(log)
        logged = read_run(log, variant)
    found = characterise(logged.readings, limits=limits)
    context = SheetContext(
        judge={
            "name": held["judge"],
            "reported_models": list(logged.reported_models),
            "decoding": json.loads(held["decoding"]),
            "simulated": held["simulated"] == "yes",
            "ties_allowed": variant.ties_allowed,
            **{
                field: held[field] for field in ("judge_id", "adapter", "model", "prompt", "prompt_hash", "rubric_hash")
            },
        },
        bank={
            "name": held["bank"],
            "hash": held["bank_hash"],
            "tasks": len(logged.readings.tasks),
            "validated_by_people": False,
        },
        design={
            "name": "all trials of the log",
            "seed": None,
            "planned": None,
            "answered": len(logged.readings),
            "unanswered": None,
        },
        operation=logged.operation,
        gates=["checked when the trials were made"],
        notes=logged.notes,
        provenance={
            "command": f"datasheet analyze {path.name}",
            **software(),
            "parser": PARSER,
            **{field: held[field] for field in ("judge_id", "prompt_hash", "rubric_hash", "bank_hash")},
            "first_trial": logged.operation["first_at"],
            "last_trial": logged.operation["last_at"],
        },
    )
    sheet = build_sheet(found, logged.readings, context, limits)
    return Analysis(sheet=sheet, conclusive=found.anything_measured)


def sheet_of(source: Path) -> dict[str, Any]:
    """A datasheet from its JSON, PDF or folder as it is, or made of a log.

    Raises
    ------
    DatasheetError
        There is neither.
    """
    if source.suffix.lower() in LOG_SUFFIXES or is_trial_log(source):
        return analyze(source).sheet
    return read_sheet(source)
