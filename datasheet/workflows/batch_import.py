"""``datasheet log import``: the answers in a provider's batch files as readings, as live calls would have left them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from datasheet.errors import JudgeError, TransientJudgeError, UsageError
from datasheet.exchange.batch_files import FORMATS, read_answers
from datasheet.judge.batch import read_batched
from datasheet.judge.wire import environment_scrubber
from datasheet.records import Reply
from datasheet.trials.exported import exported, run_prefix
from datasheet.trials.log import TrialLog
from datasheet.trials.tables import LoggedReading, Presentation
from datasheet.visible import visible
from datasheet.workflows.logged import reader_of, variant_of
from datasheet.workflows.logs import trial_log

_SHOWN = 10  # more would be cut where an error is printed


@dataclass(slots=True)
class Noted:
    """How many lines are so, and what is said of the first of them: a file may have any number."""

    count: int = 0
    sentences: list[str] = field(default_factory=list)

    def add(self, sentence: str) -> None:
        """Count a line, and keep its sentence if it is among the first."""
        self.count += 1
        if self.count <= _SHOWN:
            self.sentences.append(sentence)

    def __str__(self) -> str:
        more = [f"and {self.count - _SHOWN} more"] if self.count > _SHOWN else []
        return "\n".join(f"  {line}" for line in (*self.sentences, *more))


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchImport:
    """What an import did.

    Attributes
    ----------
    added
        Readings that the log did not have.
    known, otherwise
        Answers to trials that it had a reading of, which stays; and those of them that say something else.
    failed, examples
        Calls that failed on trials that have no reading yet, by kind, and for each kind what one of them said.
    broken
        Lines that can't be read.
    conflicts
        Trials with different answers, none of which was taken.
    pending
        Exported trials that have no reading yet.
    """

    added: int
    known: int
    otherwise: int
    failed: Mapping[str, int]
    examples: Mapping[str, str]
    broken: Noted
    conflicts: Noted
    pending: int


@dataclass(slots=True)
class _Answers:
    """What files say of the trials of one run: where each different reply or failure to a trial was found first."""

    replies: dict[str, dict[Reply, str]] = field(default_factory=dict)
    failures: dict[str, dict[tuple[str, int | None, str], str]] = field(default_factory=dict)
    foreign: Noted = field(default_factory=Noted)
    broken: Noted = field(default_factory=Noted)

    @property
    def agreed(self) -> dict[str, Reply]:
        """The reply to each trial that has one and no other, in the order of keys."""
        return {key: next(iter(said)) for key, said in sorted(self.replies.items()) if len(said) == 1}

    @property
    def conflicts(self) -> Noted:
        """The trials to which there are different replies, with the lines of each."""
        noted = Noted()
        for key, said in sorted(self.replies.items()):
            if len(said) > 1:
                noted.add(f"trial {key}: {len(said)} different answers ({'; '.join(said.values())})")
        return noted


def import_batch(source: Path, files: Sequence[Path], *, keep_raw: bool = True) -> BatchImport:
    """Read a provider's output and error files into the log that the requests were exported from.

    Lines come in any order, and may be missing, broken or doubled; a trial without an answer stays to be asked.

    Raises
    ------
    UsageError
        A file is of another run, holds no answer, or mixes models; nothing was imported.
    DatasheetError
        A file can't be read, or the log can't be written.
    """
    path = trial_log(source)
    with TrialLog.read(path) as log:
        instrument, shown = log.instrument, exported(log)
        if not shown or instrument["adapter"] not in FORMATS:
            raise UsageError(f"{path}: nothing was exported from this log; `datasheet log export --batch` does")
        found = _read(files, instrument, shown)
        _refuse_foreign(found, files)
        agreed = found.agreed
        _refuse_mixed_models(found, agreed, log.reported_model)
        held = {logged.key: logged for logged in log.readings(agreed)}
        told = set(log.stored("failure", ("key", "kind", "status", "message")))
        reader = None if keep_raw else reader_of(variant_of(log))
        answered = log.answered()
    new = {key: reply for key, reply in agreed.items() if key not in answered}
    failures = [
        (key, TransientJudgeError(message, kind=kind, status=status))
        for key, said in sorted(found.failures.items())
        for kind, status, message in sorted(said, key=repr)
        if (key, kind, status, message) not in told
    ]
    if new or failures:
        with TrialLog.open(path, instrument=instrument, create=False, instead_of_raw=reader) as log:
            _record(log, new, failures, shown)
    open_trials = shown.keys() - answered - new.keys()
    left = sorted((said for key in open_trials for said in found.failures.get(key, ())), key=repr)
    return BatchImport(
        added=len(new),
        known=len(held),
        otherwise=sum(_differs(logged, agreed[key]) for key, logged in held.items()),
        failed=Counter(kind for kind, _, _ in left),
        examples={kind: message for kind, _, message in left},
        broken=found.broken,
        conflicts=found.conflicts,
        pending=len(open_trials),
    )


def _record(
    log: TrialLog,
    new: Mapping[str, Reply],
    failures: Iterable[tuple[str, JudgeError]],
    shown: Mapping[str, Presentation],
) -> None:
    now = datetime.now(UTC)
    for key, failure in failures:
        log.record_failure(key, failure, attempt=1, at=now)
    for key, reply in new.items():
        log.freeze_model(reply.model, reply.fingerprint)
        log.record_batched(shown[key], reply, at=now)


def _read(files: Sequence[Path], instrument: Mapping[str, str], shown: Mapping[str, Presentation]) -> _Answers:
    adapter, prefix, scrub = instrument["adapter"], run_prefix(instrument), environment_scrubber()
    found = _Answers()
    for path in files:
        for answer in read_answers(path, FORMATS[adapter]):
            if isinstance(answer, str):
                found.broken.add(answer)
                continue
            key = answer.custom_id.removeprefix(prefix)
            if not answer.custom_id.startswith(prefix) or key not in shown:
                found.foreign.add(f"{answer.where}: {visible(answer.custom_id, most=80)}")
                continue
            try:
                if answer.ended:
                    raise TransientJudgeError(f"the provider says: {answer.ended}", kind=answer.ended)
                reply = read_batched(adapter, answer.document, answer.status, scrub=scrub)
                found.replies.setdefault(key, {}).setdefault(reply, answer.where)
            except TransientJudgeError as failure:
                said = (failure.kind, failure.status, str(failure))
                found.failures.setdefault(key, {}).setdefault(said, answer.where)
    return found


def _refuse_foreign(found: _Answers, files: Sequence[Path]) -> None:
    if found.foreign.count:
        raise UsageError(
            f"{found.foreign.count} lines answer requests that were not exported from this log, and nothing was "
            f"imported:\n{found.foreign}\nThey are of another judge, prompt, bank or plan: import them into "
            "the log that they were exported from"
        )
    if not found.replies and not found.failures:
        names = ", ".join(path.name for path in files)
        lines = f":\n{found.broken}" if found.broken.count else ""
        raise UsageError(f"{names}: expected the output or error file of a batch, found no answer in it{lines}")


def _refuse_mixed_models(found: _Answers, agreed: Mapping[str, Reply], reported: str) -> None:
    """A datasheet is of one model, whatever a file says."""
    where = {reported: "in the log"} if reported else {}
    for key, reply in agreed.items():
        if reply.model:
            where.setdefault(reply.model, found.replies[key][reply])
    if len(where) > 1:
        told = Noted()
        for model, place in where.items():
            told.add(f"{visible(model, most=80)!r}: {place}")
        raise UsageError(
            f"the answers are of {len(where)} models, and nothing was imported:\n{told}\nA datasheet is of "
            "one model: ask for the model by a name that does not move, with another --out"
        )


def _differs(logged: LoggedReading, reply: Reply) -> bool:
    """Whether a log, as far as it keeps the words, says something else than a file."""
    return logged.kept is None and replace(logged.reply, latency_s=0.0) != reply
