"""``datasheet build``: stimuli → trials → analysis → the documents."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from datasheet.analysis.characterise import characterise
from datasheet.config import Config
from datasheet.errors import DatasheetError, StimulusError, UsageError
from datasheet.identity import content_id
from datasheet.judge.base import Judge
from datasheet.judge.catalogue import DEFAULT_JUDGE, find_judge, make_judge
from datasheet.judge.cluster import ClusterJudge
from datasheet.judge.spec import JudgeSpec
from datasheet.prompts import PARSER, load_variant
from datasheet.records import Trial
from datasheet.sheet.build import SheetContext, build_sheet
from datasheet.stimulus.bank import TaskBank, load_bank
from datasheet.stimulus.bank_gates import check_bank
from datasheet.stimulus.design import plan
from datasheet.stimulus.lexicon import make_lexicon
from datasheet.trials.log import TrialLog
from datasheet.trials.pending import pending
from datasheet.trials.runner import Progress, RunOutcome
from datasheet.workflows.asking import ask
from datasheet.workflows.context import LOG_NAME, sheet_context
from datasheet.workflows.documents import Documents, write_documents
from datasheet.workflows.forecast import Forecast, earlier_calls, forecast
from datasheet.workflows.instrument import Instrument
from datasheet.workflows.limits import configured_limits
from datasheet.workflows.logged import LoggedRun, read_run, reader_of
from datasheet.workflows.precision import Precision, precision_of
from datasheet.workflows.replay import replay_judge
from datasheet.workflows.spending import Budget, allowance_of

__all__ = ["DEFAULT_JUDGE", "Announcement", "BuildOptions", "BuildResult", "Progress", "build", "folder_name"]

_LONGEST_NAME = 60
_FAULTS_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """What to build; the defaults are the command line's."""

    judge: str = DEFAULT_JUDGE
    prompt: str = "default"
    design: str = "standard"
    bank: str = "english"
    out: Path | None = None
    concurrency: int = 8
    repeats: int | None = None
    seed: int = 0
    fresh: bool = False
    keep_raw: bool = True
    render: bool = True
    engine: Literal["local", "dask"] = "local"
    scheduler: str | None = None
    budget: Budget | None = None
    dry_run: bool = False


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
    forecast: Forecast
    precision: Precision


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildResult:
    """What a build did.

    Attributes
    ----------
    outcome, sheet
        None where no call was to be made, and where it paused before the end or was a dry run.
    spent, unit
        What its attempts cost, in calls or in a currency.
    """

    folder: Path
    outcome: RunOutcome | None
    spent: float = 0.0
    unit: str = "calls"
    sheet: Mapping[str, Any] | None = None
    documents: Documents | None = None
    conclusive: bool = False

    @property
    def unanswered(self) -> int:
        """Trials that all attempts failed on; the next run asks them again."""
        return sum(self.outcome.failed.values()) if self.outcome else 0


def folder_name(*names: str) -> str:
    """A folder name from names that may hold anything; different names give different folders."""
    slugs = [re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_LONGEST_NAME] for name in names]
    plain = "_".join(slugs)
    faithful = all(re.fullmatch(r"[a-z0-9:-]+", name) and len(name) <= _LONGEST_NAME for name in names)
    return plain if faithful else f"{plain}_{content_id(list(names))[:8]}"


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
    bank, spec, instrument = prepared(options, config)
    judge, variant, limits = instrument.judge, instrument.variant, configured_limits(config)
    trials = plan(bank, options.design, seed=options.seed, repeats=options.repeats)
    planned = instrument.requests(trials)
    folder = options.out or Path("datasheets") / folder_name(instrument.name, variant.name, options.design)
    log_path = folder / LOG_NAME
    described = instrument.described(bank, design=options.design, seed=options.seed, repeats=options.repeats)
    if options.budget is not None:
        options.budget.check(spec)
    if options.fresh and not options.dry_run:
        TrialLog.set_aside(log_path)
    answered = set() if options.fresh else TrialLog.answered_in(log_path, described)
    to_ask = pending(planned, answered)
    announce(
        Announcement(
            folder=folder,
            planned=len(planned),
            to_ask=len(to_ask),
            judge=instrument.name,
            prompt=variant.name,
            design=options.design,
            simulated=judge.simulated,
            forecast=forecast(
                [request for _, request in to_ask],
                judge,
                spec.prices,
                earlier_calls(log_path) if answered else (),
                concurrency=options.concurrency,
            ),
            precision=precision_of(trials, ties_allowed=variant.ties_allowed),
        )
    )
    if options.dry_run:
        return BuildResult(folder=folder, outcome=None)
    outcome = None
    allowance = allowance_of(options.budget, judge, spec.prices)
    if to_ask:
        outcome = asyncio.run(
            ask(
                planned,
                judge,
                log_path,
                described,
                concurrency=options.concurrency,
                allowance=allowance,
                progress=progress,
                instead_of_raw=None if options.keep_raw else reader_of(variant),
            )
        )
        if outcome.paused is not None:
            return BuildResult(folder=folder, outcome=outcome, spent=allowance.spent, unit=allowance.tariff.unit)
    with TrialLog.read(log_path) as log:
        logged = read_run(log, variant, {request.key for _, request in planned}, spec.prices)
    if not len(logged.readings):
        raise DatasheetError(f"no call succeeded, so there is nothing to analyse; {log_path} holds the failures")
    found = characterise(logged.readings, limits=limits)
    context = _context(instrument, options, described, trials, logged, bank)
    sheet = build_sheet(found, logged.readings, context, limits)
    documents = write_documents(sheet, folder, render=options.render)
    return BuildResult(
        folder=folder,
        outcome=outcome,
        spent=allowance.spent,
        unit=allowance.tariff.unit,
        sheet=sheet,
        documents=documents,
        conclusive=found.anything_measured,
    )


def prepared(options: BuildOptions, config: Config) -> tuple[TaskBank, JudgeSpec, Instrument]:
    """The bank, which has passed its gates, and the instrument that is to read it; the judge is not yet opened.

    Raises
    ------
    DatasheetError
        One of them can't be used.
    """
    bank, variant = _gated_bank(options.bank), load_variant(options.prompt)
    spec = find_judge(options.judge, config)
    return bank, spec, Instrument(name=spec.name, judge=_make(spec, bank, options), variant=variant)


def _gated_bank(name: str) -> TaskBank:
    """A bank that passes its gates, checked before any call.

    Raises
    ------
    StimulusError
        It does not; the message names the faults.
    """
    bank = load_bank(name)
    faults = [str(fault) for fault in check_bank(bank)]
    if faults:
        shown = "\n  ".join(faults[:_FAULTS_SHOWN])
        raise StimulusError(
            f"the bank {name} breaks {len(faults)} gate(s); mend it (`datasheet stimuli check {name}` lists all):\n"
            f"  {shown}",
            tuple(faults),
        )
    return bank


def _make(spec: JudgeSpec, bank: TaskBank, options: BuildOptions) -> Judge:
    """The judge, in this process or on the workers of a cluster.

    Raises
    ------
    UsageError
        A setting that the adapter, or the engine, can't use.
    """
    if options.scheduler is not None and options.engine != "dask":
        raise UsageError("--scheduler is the address of a Dask cluster: add --engine dask")
    if spec.adapter == "replay":
        if options.engine != "local":
            raise UsageError("a replayed log makes no call that a cluster could share: leave out --engine")
        return replay_judge(Path(spec.options["log"]))
    make = partial(make_judge, spec, lexicon=make_lexicon(bank), connections=options.concurrency)
    return make() if options.engine == "local" else ClusterJudge(make(), make, scheduler=options.scheduler)


def _command(options: BuildOptions, spec_name: str) -> str:
    parts = ["datasheet", "build", "--judge", spec_name, "--prompt", options.prompt, "--design", options.design]
    parts += ["--bank", options.bank, "--seed", str(options.seed)]
    if options.repeats is not None:
        parts += ["--repeats", str(options.repeats)]
    return shlex.join(parts)


def _gates(trials: list[Trial], bank: TaskBank) -> list[str]:
    """The gates that were passed, each with what it was held against."""
    stimuli = {trial.stimulus.id: trial.stimulus for trial in trials}.values()
    arms = Counter(stimulus.arm if stimulus.probe != "vacuum" else "vacuum" for stimulus in stimuli)
    checked = {
        f"task bank: all {len(bank.tasks)} tasks": len(bank.tasks),
        f"strict prefix property: {arms['prefix']} pairs": arms["prefix"],
        f"lengths of filled answers: {arms['filled_even'] + arms['filled_longer']} pairs": arms["filled_even"]
        + arms["filled_longer"],
        f"phrasings as built: {arms['terse_better'] + arms['wordy_better']} pairs": arms["terse_better"]
        + arms["wordy_better"],
        f"identical where they must be: {arms['vacuum']} pairs": arms["vacuum"],
        f"different where they must be: {len(stimuli) - arms['vacuum']} pairs": len(stimuli) - arms["vacuum"],
        f"no metadata in what the judge sees, orders mirror images: {len(stimuli)} stimuli": len(stimuli),
    }
    return [sentence for sentence, count in checked.items() if count]


def _context(
    instrument: Instrument,
    options: BuildOptions,
    described: Mapping[str, str],
    trials: list[Trial],
    logged: LoggedRun,
    bank: TaskBank,
) -> SheetContext:
    notes = list(logged.notes)
    unanswered = len(trials) - len(logged.readings)
    if unanswered:
        notes.append(
            f"{unanswered} of {len(trials)} planned trials have no reply yet: the same command asks them again."
        )
    marked = instrument.stimuli_with_verdicts(trials)
    if marked:
        notes.append(f"{marked} stimuli hold text that this prompt would read as a verdict.")
    provenance = instrument.judge.provenance
    given = {"first_at": provenance.get("first_trial"), "last_at": provenance.get("last_trial")}
    return sheet_context(
        described,
        logged.readings,
        command=_command(options, instrument.name),
        parser=PARSER,
        operation=logged.operation | {field: date for field, date in given.items() if date is not None},
        reported_models=logged.reported_models,
        gates=_gates(trials, bank),
        notes=notes,
        planned=len(trials),
        provenance={**provenance, **logged.provenance},
    )
