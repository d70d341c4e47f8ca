"""``datasheet analyze``: the same analysis on a log, wherever it was made."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasheet.analysis.characterise import characterise
from datasheet.analysis.operation import operation_of
from datasheet.analysis.profile import Limits
from datasheet.errors import UsageError
from datasheet.exchange.calls import CallColumns
from datasheet.exchange.verdict_log import VerdictLog, read_verdict_log
from datasheet.prompts import PARSER
from datasheet.sheet.build import build_sheet
from datasheet.trials.log import TrialLog
from datasheet.workflows.context import LOG_NAME, NOT_GIVEN, sheet_context
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
    """Whether a file is SQLite, as our own logs are; what comes through a pipe can be read but once, and is none."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as stream:
            return stream.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def analyze(
    path: Path, *, judge: str | None = None, prompt: str | None = None, limits: Limits | None = None
) -> Analysis:
    """The datasheet of a verdict log, or of a trial log (or the folder that holds one).

    Parameters
    ----------
    judge, prompt
        Which, where the log holds several.

    Raises
    ------
    DatasheetError
        The log can't be read, or holds no such judge.
    """
    path = path / LOG_NAME if path.is_dir() else path
    if path.name == LOG_NAME and path.is_file() and not path.stat().st_size:
        raise UsageError(f"{path} holds nothing yet: the build it belongs to has not begun")
    if is_trial_log(path):
        return _of_trial_log(path, judge, prompt, limits)
    log = read_verdict_log(path, judge=judge, prompt=prompt)
    return _of_verdict_log(log, limits)


def _command(path: str | Path, judge: str | None = None, prompt: str | None = None) -> str:
    parts = ["datasheet", "analyze", Path(path).name]
    parts += ["--judge", judge] if judge else []
    parts += ["--prompt", prompt] if prompt else []
    return shlex.join(parts)


def _operation(calls: CallColumns) -> dict[str, Any] | None:
    """How the judge ran, as far as the log tells; None where it tells nothing."""
    if not calls.latencies_s and not calls.dates:
        return None
    return {
        **operation_of(
            latencies_s=calls.latencies_s,
            prompt_tokens=calls.prompt_tokens,
            cached_tokens=calls.cached_tokens,
            completion_tokens=calls.completion_tokens,
        ),
        "first_at": min(calls.dates, default=None),
        "last_at": max(calls.dates, default=None),
    }


def _of_verdict_log(log: VerdictLog, limits: Limits | None) -> Analysis:
    found = characterise(log.readings, limits=limits)
    name = log.judge or Path(log.path).stem
    facts = {**log.header, "judge": name, "prompt": log.prompt}
    context = sheet_context(
        facts,
        log.readings,
        command=_command(log.path, log.judge, log.prompt),
        parser=str(log.header.get("parser", NOT_GIVEN)),
        operation=_operation(log.calls),
        reported_models=sorted(log.calls.reported_models),
        gates=["not checked: a verdict log holds no texts"],
        provenance={"log": Path(log.path).name},
    )
    return Analysis(sheet=build_sheet(found, log.readings, context, limits), conclusive=found.anything_measured)


def _of_trial_log(path: Path, judge: str | None, prompt: str | None, limits: Limits | None) -> Analysis:
    with TrialLog.read(path) as log:
        held = log.instrument
        for what, asked in (("judge", judge), ("prompt", prompt)):
            if asked is not None and asked != held.get(what):
                raise UsageError(f"{path} holds readings of the {what} {held.get(what)!r}, not of {asked!r}")
        variant = variant_of(log)
        logged = read_run(log, variant)
    found = characterise(logged.readings, limits=limits)
    context = sheet_context(
        held,
        logged.readings,
        command=_command(path),
        parser=PARSER,
        operation=logged.operation,
        reported_models=logged.reported_models,
        gates=["checked when the trials were made"],
        notes=logged.notes,
        provenance=logged.provenance,
    )
    return Analysis(sheet=build_sheet(found, logged.readings, context, limits), conclusive=found.anything_measured)


def sheet_of(source: Path, limits: Limits | None = None) -> dict[str, Any]:
    """A datasheet from its JSON, PDF or folder as it is, or made of a log.

    Raises
    ------
    DatasheetError
        There is neither.
    """
    if source.suffix.lower() in LOG_SUFFIXES or is_trial_log(source):
        return analyze(source, limits=limits).sheet
    return read_sheet(source)
