"""``datasheet build``: stimuli → trials → analysis → the documents."""

from __future__ import annotations

import asyncio
import platform
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from datasheet import __version__
from datasheet.analysis.characterise import characterise
from datasheet.config import Config
from datasheet.errors import DatasheetError
from datasheet.judge.base import Judge
from datasheet.judge.catalogue import DEFAULT_JUDGE, JudgeSpec, find_judge, make_judge
from datasheet.prompts import PARSER, load_variant
from datasheet.records import Trial
from datasheet.sheet.build import SheetContext, build_sheet
from datasheet.stimulus.bank import TaskBank, load_bank
from datasheet.stimulus.design import plan
from datasheet.stimulus.lexicon import make_lexicon
from datasheet.trials.log import TrialLog
from datasheet.trials.pending import Planned, pending
from datasheet.trials.runner import Progress, RunOutcome, run
from datasheet.workflows.documents import Documents, write_documents
from datasheet.workflows.instrument import Instrument
from datasheet.workflows.limits import configured_limits
from datasheet.workflows.logged import LoggedRun, read_run
from datasheet.workflows.replay import replay_judge

__all__ = ["DEFAULT_JUDGE", "Announcement", "BuildOptions", "BuildResult", "Progress", "build", "folder_name"]

LOG_NAME = "trials.sqlite"
GATES_PASSED = (
    "strict prefix property",
    "answers differ or are equal where they must",
    "length bounds of the arms",
    "no metadata in what the judge sees",
    "the two orders are mirror images",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """What to build; the defaults are the command line's."""

    judge: str
    prompt: str = "default"
    design: str = "standard"
    bank: str = "english"
    out: Path | None = None
    concurrency: int = 8
    repeats: int | None = None
    seed: int = 0
    fresh: bool = False
    render: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What a build is about to do, told before its first call."""

    folder: Path
    planned: int
    to_ask: int
    judge: str
    prompt: str
    design: str
    simulated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildResult:
    """What a build did. ``sheet`` is None where it paused before the end."""

    folder: Path
    outcome: RunOutcome | None
    sheet: Mapping[str, Any] | None = None
    documents: Documents | None = None
    conclusive: bool = False

    @property
    def unanswered(self) -> int:
        """Trials that all attempts failed on; the next run asks them again."""
        return sum(self.outcome.failed.values()) if self.outcome else 0


def folder_name(*names: str) -> str:
    """A folder name from names that may hold anything."""
    parts = (re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:60] or "x" for name in names)
    return "_".join(parts).lower()


def build(
    options: BuildOptions,
    config: Config,
    *,
    announce: Callable[[Announcement], None] = lambda _: None,
    progress: Callable[[Progress], None] | None = None,
) -> BuildResult:
    """Measure a judge under a prompt and write its datasheet; goes on where an earlier run stopped.

    Raises
    ------
    DatasheetError
        Nothing could be measured; the message says what to do.
    """
    bank, variant = load_bank(options.bank), load_variant(options.prompt)
    spec = find_judge(options.judge, config)
    limits = configured_limits(config)
    judge = _make(spec, bank, options.concurrency)
    instrument = Instrument(name=spec.name, judge=judge, variant=variant)
    trials = plan(bank, options.design, seed=options.seed, repeats=options.repeats)
    planned = instrument.requests(trials)
    folder = options.out or Path("datasheets") / folder_name(spec.name, variant.name, options.design)
    log_path = folder / LOG_NAME
    described = instrument.described(bank.bank_hash, bank.name)
    if options.fresh:
        TrialLog.set_aside(log_path)
    to_ask = _to_ask(log_path, described, planned)
    announce(
        Announcement(
            folder=folder,
            planned=len(planned),
            to_ask=len(to_ask),
            judge=spec.name,
            prompt=variant.name,
            design=options.design,
            simulated=judge.simulated,
        )
    )
    outcome = None
    if to_ask:
        outcome = asyncio.run(_ask(judge, planned, log_path, described, options.concurrency, progress))
        if outcome.paused is not None:
            return BuildResult(folder=folder, outcome=outcome)
    with TrialLog.read(log_path) as log:
        logged = read_run(log, variant, {request.key for _, request in planned})
    if not len(logged.readings):
        raise DatasheetError(f"no call succeeded, so there is nothing to analyse; {log_path} holds the failures")
    found = characterise(logged.readings, limits=limits)
    context = _context(instrument, spec, bank, options, trials, logged)
    sheet = build_sheet(found, logged.readings, context, limits)
    documents = write_documents(sheet, folder, render=options.render)
    return BuildResult(
        folder=folder, outcome=outcome, sheet=sheet, documents=documents, conclusive=found.anything_measured
    )


def _make(spec: JudgeSpec, bank: TaskBank, concurrency: int) -> Judge:
    if spec.adapter == "replay":
        return replay_judge(Path(spec.target))
    return make_judge(spec, lexicon=make_lexicon(bank), connections=concurrency)


def _to_ask(log_path: Path, described: Mapping[str, str], planned: list[Planned]) -> list[Planned]:
    """The trials that the log has no reading of; all of them where there is no log yet."""
    if not log_path.exists():
        return planned
    with TrialLog.read(log_path) as log:
        log.check_instrument(described)
        return pending(planned, log.answered())


async def _ask(
    judge: Judge,
    planned: list[Planned],
    log_path: Path,
    described: Mapping[str, str],
    concurrency: int,
    progress: Callable[[Progress], None] | None,
) -> RunOutcome:
    try:
        await judge.open()
        log_path.parent.mkdir(parents=True, exist_ok=True)
        with TrialLog.open(log_path, instrument=described) as log:
            return await run(planned, judge, log, concurrency=concurrency, progress=progress)
    finally:
        await judge.close()


def _command(options: BuildOptions, spec: JudgeSpec, variant_name: str) -> str:
    parts = ["datasheet", "build", "--judge", spec.name, "--prompt", variant_name, "--design", options.design]
    parts += ["--bank", options.bank, "--seed", str(options.seed)]
    if options.repeats is not None:
        parts += ["--repeats", str(options.repeats)]
    return shlex.join(parts)


def software() -> dict[str, str]:
    """Versions that the figures depend on."""
    packages = {name: version(name) for name in ("numpy", "scipy", "statsmodels")}
    return {
        "package": f"judge-datasheet {__version__}",
        "python": platform.python_version(),
        **packages,
        "platform": sys.platform,
    }


def _context(
    instrument: Instrument,
    spec: JudgeSpec,
    bank: TaskBank,
    options: BuildOptions,
    trials: list[Trial],
    logged: LoggedRun,
) -> SheetContext:
    judge, variant = instrument.judge, instrument.variant
    tasks = {trial.stimulus.task for trial in trials}
    notes = list(logged.notes)
    unanswered = len(trials) - len(logged.readings)
    if unanswered:
        notes.append(
            f"{unanswered} of {len(trials)} planned trials have no reply yet: the same command asks them again."
        )
    marked = instrument.stimuli_with_verdicts(trials)
    if marked:
        notes.append(f"{marked} stimuli hold text that this prompt would read as a verdict.")
    stimuli = len({trial.stimulus.id for trial in trials})
    return SheetContext(
        judge={
            "name": spec.name,
            "judge_id": instrument.judge_id,
            "adapter": judge.adapter,
            "model": judge.model,
            "reported_models": list(logged.reported_models),
            "prompt": variant.name,
            "prompt_hash": variant.prompt_hash,
            "rubric_hash": variant.rubric_hash,
            "decoding": dict(judge.decoding),
            "simulated": judge.simulated,
            "ties_allowed": variant.ties_allowed,
        },
        bank={
            "name": bank.name,
            "hash": bank.bank_hash,
            "language": bank.language,
            "tasks": len(tasks),
            "validated_by_people": False,
        },
        design={
            "name": options.design,
            "seed": options.seed,
            "repeats": options.repeats,
            "planned": len(trials),
            "answered": len(logged.readings),
            "unanswered": unanswered,
        },
        operation=logged.operation,
        gates=[f"{gate}: all {stimuli} stimuli" for gate in GATES_PASSED],
        notes=notes,
        provenance={
            "command": _command(options, spec, variant.name),
            **software(),
            "parser": PARSER,
            "judge_id": instrument.judge_id,
            "prompt_hash": variant.prompt_hash,
            "rubric_hash": variant.rubric_hash,
            "bank_hash": bank.bank_hash,
            **judge.provenance,
            "first_trial": logged.operation["first_at"],
            "last_trial": logged.operation["last_at"],
        },
    )
