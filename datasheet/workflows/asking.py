"""Asking a judge what is planned: opened, asked into a trial log, and closed again whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from datasheet.errors import TrialLogError
from datasheet.judge.base import Judge
from datasheet.trials.allowance import Allowance
from datasheet.trials.kept_verdict import ReplyReader
from datasheet.trials.log import TrialLog
from datasheet.trials.pending import Planned
from datasheet.trials.runner import Progress, RunOutcome, run


async def ask(
    planned: Sequence[Planned],
    judge: Judge,
    log_path: Path,
    described: Mapping[str, str],
    *,
    concurrency: int,
    allowance: Allowance | None = None,
    progress: Callable[[Progress], None] | None = None,
    instead_of_raw: ReplyReader | None = None,
) -> RunOutcome:
    """Ask a judge every planned trial that its log, which is made where there is none, has no reading of.

    Parameters
    ----------
    allowance
        What it may spend; None: there is no limit.
    instead_of_raw
        Reads the verdicts that are kept in the place of the judge's own words; None keeps the words.

    Raises
    ------
    JudgeError
        The judge can't be asked.
    TrialLogError
        The log, or its folder, can't be made or written.
    """
    try:
        await judge.open()
        make_folder(log_path.parent)
        with TrialLog.open(log_path, instrument=described, instead_of_raw=instead_of_raw) as log:
            return await run(planned, judge, log, concurrency=concurrency, allowance=allowance, progress=progress)
    finally:
        await judge.close()


def make_folder(folder: Path) -> None:
    """Make the folder of a log, where it is not there.

    Raises
    ------
    TrialLogError
        It can't be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise TrialLogError(f"the folder {folder} can't be made: {problem.strerror}; name another --out") from None
