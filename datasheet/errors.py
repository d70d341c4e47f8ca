"""Every error that this package raises on purpose.

::

    DatasheetError            anything a user can act on; the command line exits with 2
    ├── UsageError            options or a datasheet.toml that do not fit
    ├── StimulusError         a task bank or a stimulus that breaks a gate
    ├── PromptError           a prompt variant that can't be used
    ├── JudgeError            a call to a judge that gave no reading
    │   ├── TransientJudgeError   a retry may help (rate limit, time-out, cut connection, 5xx)
    │   └── PermanentJudgeError   no retry helps: the run stops (wrong key, wrong model, refused parameter)
    ├── TrialLogError         a trial log that is damaged, busy or of another instrument
    ├── VerdictLogError       a verdict log or a batch file that can't be read, with the line
    ├── EstimationError       readings that no analysis can be made of
    └── RenderError           a document that can't be written

A reply that can't be parsed is a datum (an invalid reading), not an error. A run that pauses is not an error either:
the command line exits with 4 and the same command goes on.
"""

from __future__ import annotations

from functools import partial


class DatasheetError(Exception):
    """Base of all errors of this package; its text says what was expected, what was found and what to do."""


class UsageError(DatasheetError):
    """Options, judge names or configuration that do not fit together."""


class StimulusError(DatasheetError):
    """A task bank or a stimulus that breaks a gate; ``faults`` holds one sentence for each fault."""

    def __init__(self, message: str, faults: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults


class PromptError(DatasheetError):
    """A prompt variant that can't be used."""


class JudgeError(DatasheetError):
    """A call that gave no reading.

    Attributes
    ----------
    kind
        A short class of the failure, as stored in the trial log (``"rate_limit"``, ``"timeout"``, …).
    status
        The HTTP status, where there was one.
    """

    def __init__(self, message: str, *, kind: str, status: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled whole: it may come from another process."""
        return partial(type(self), **vars(self)), self.args


class TransientJudgeError(JudgeError):
    """A failure that another attempt may mend.

    Attributes
    ----------
    retry_after_s
        Seconds that the server asked to wait, if it did.
    """

    def __init__(
        self, message: str, *, kind: str, status: int | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message, kind=kind, status=status)
        self.retry_after_s = retry_after_s


class PermanentJudgeError(JudgeError):
    """A failure that would meet every further call too: the run stops and says so once."""


class TrialLogError(DatasheetError):
    """A trial log that is damaged, in use, or of another instrument."""


class VerdictLogError(DatasheetError):
    """A verdict log or a batch file that can't be read; the message names file and line."""


class EstimationError(DatasheetError):
    """Readings that no analysis can be made of."""


class RenderError(DatasheetError):
    """A document that can't be written."""
