"""The trials of a log that were written to batch files, to be asked elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from datasheet.errors import TrialLogError
from datasheet.identity import content_id
from datasheet.trials.columns import EXPORTED
from datasheet.trials.log import TrialLog
from datasheet.trials.tables import Presentation


def run_prefix(instrument: Mapping[str, str]) -> str:
    """What the ids of a run's requests begin with, before the trial's key: its judge, prompt and bank."""
    return f"jd-{content_id([instrument['judge_id'], instrument['bank_hash']])}-"


def exported(log: TrialLog) -> dict[str, Presentation]:
    """What the reading of each exported trial will say of it, by its key.

    Raises
    ------
    TrialLogError
        The log was edited.
    """
    try:
        shown = map(Presentation.from_row, log.stored("exported", ("key", *EXPORTED)))
        return {presentation.key: presentation for presentation in shown}
    except ValueError as error:
        raise TrialLogError(
            f"{log.path}: an exported trial does not fit: {error}; the log was edited or damaged: restore a copy"
        ) from None
