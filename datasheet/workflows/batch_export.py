"""``datasheet log export --batch``: the calls that a build would still make, written to a provider's batch file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from datasheet.config import Config
from datasheet.errors import UsageError
from datasheet.exchange.batch_files import FORMATS, write_requests
from datasheet.judge.batch import BatchJudge
from datasheet.stimulus.design import plan
from datasheet.trials.exported import run_prefix
from datasheet.trials.log import TrialLog
from datasheet.trials.pending import pending
from datasheet.workflows.asking import make_folder
from datasheet.workflows.build import BuildOptions, prepared
from datasheet.workflows.context import LOG_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchExport:
    """What was written: ``requests`` of ``planned`` trials in ``files``, none where every trial has a reading."""

    format: str
    planned: int
    requests: int
    files: tuple[Path, ...]


def export_batch(
    source: Path, target: Path, options: BuildOptions, config: Config, *, force: bool = False
) -> BatchExport:
    """Write a request for each trial of a plan that has no reading yet, in the format of the judge's provider.

    The log, which is made where there is none, keeps what was exported. Nobody is called, and no key is read.

    Parameters
    ----------
    source
        The log, or the folder of the build.
    target
        The file; those beyond its provider's limits stand beside it.

    Raises
    ------
    DatasheetError
        The judge has no batch files, or the log or the file can't be written.
    """
    bank, _, instrument = prepared(options, config)
    judge = instrument.judge
    if judge.adapter not in FORMATS or not isinstance(judge, BatchJudge):
        raise UsageError(
            f"--batch is for judges of the adapters {' and '.join(FORMATS)}; {instrument.name} is of "
            f"{judge.adapter}: name another --judge"
        )
    form = FORMATS[judge.adapter]
    planned = instrument.requests(plan(bank, options.design, seed=options.seed, repeats=options.repeats))
    described = instrument.described(bank, design=options.design, seed=options.seed, repeats=options.repeats)
    path = source if source.is_file() else source / LOG_NAME
    if target.resolve() == path.resolve():
        raise UsageError(f"{target} is the log itself: name another file")
    make_folder(path.parent)
    with TrialLog.open(path, instrument=described) as log:
        log.add_stimuli(trial.stimulus for trial, _ in planned)
        to_ask = pending(planned, log.answered())
        log.add_exported(to_ask)
        prefix = run_prefix(described)
        requests = [(f"{prefix}{request.key}", judge.body(request)) for _, request in to_ask]
        files = write_requests(target, requests, form, force=force) if requests else []
    return BatchExport(format=form.name, planned=len(planned), requests=len(to_ask), files=tuple(files))
