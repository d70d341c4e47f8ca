"""From a trial log to readings: parsing is a step of its own, so a better parser can read old logs again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from datasheet.analysis.operation import operation_of
from datasheet.errors import PromptError, TrialLogError
from datasheet.judge.prices import Prices
from datasheet.judge.truncation import looks_truncated
from datasheet.prompts import PARSER, PromptVariant, parse, read_labels
from datasheet.prompts.parsing import DECLARED_OTHERWISE, OFF_FORMAT, REASON_SENTENCES
from datasheet.prompts.variant import variant_from_content
from datasheet.readings import ReadingRow, Readings
from datasheet.records import Verdict
from datasheet.trials.kept_verdict import ReplyReader
from datasheet.trials.log import TrialLog
from datasheet.trials.tables import LoggedReading
from datasheet.workflows.spending import spent

_MANY_TIMEOUTS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRun:
    """What a trial log gives to a sheet: readings, how the judge ran, and what a reader should know of it.

    Attributes
    ----------
    provenance
        How the calls were made, where not all were live.
    """

    readings: Readings
    operation: dict[str, Any]
    reported_models: tuple[str, ...]
    notes: tuple[str, ...]
    provenance: Mapping[str, str]


def variant_of(log: TrialLog) -> PromptVariant:
    """The prompt variant that a log was made with, from the log itself.

    Raises
    ------
    TrialLogError
        The log does not hold the variant that it names.
    """
    held = log.instrument
    try:
        variant = variant_from_content(held.get("variant", ""))
    except PromptError as problem:
        raise TrialLogError(f"{log.path} does not hold the prompt it was made with: {problem}") from None
    if variant.prompt_hash != held.get("prompt_hash"):
        raise TrialLogError(
            f"{log.path} holds another prompt than the one it was made with (hash {held.get('prompt_hash')}, found "
            f"{variant.prompt_hash}): it was edited, or made by another release"
        )
    return variant


def reader_of(variant: PromptVariant) -> ReplyReader:
    """What reads the replies of a log that keeps no raw ones."""
    return ReplyReader(parser=PARSER, read=partial(parse, variant))


def verdict_of(variant: PromptVariant, logged: LoggedReading) -> Verdict:
    """The verdict of a logged reply: read now, or, where the judge's own words were not kept, as it was read then."""
    return parse(variant, logged.reply) if logged.kept is None else logged.kept.verdict


def reading_row(variant: PromptVariant, logged: LoggedReading, verdict: Verdict) -> ReadingRow:
    """The reading that a logged reply and its verdict make."""
    known = logged.level_a is not None and logged.level_b is not None
    return ReadingRow(
        stimulus=logged.stimulus_id,
        probe=logged.probe,
        arm=logged.arm,
        task=logged.task,
        order=logged.order,
        repeat=logged.repeat,
        outcome=verdict.outcome,
        invalid=verdict.invalid,
        abstained=verdict.abstained,
        delta_q=logged.level_a - logged.level_b if known else None,  # type: ignore[operator]
        level_a=logged.level_a,
        level_b=logged.level_b,
        length_a=logged.length_a,
        length_b=logged.length_b,
        filler_b=logged.filler_b,
        dose=logged.dose,
        labels=read_labels(variant, logged.reply),
    )


def read_run(
    log: TrialLog, variant: PromptVariant, keys: Collection[str] | None = None, prices: Prices | None = None
) -> LoggedRun:
    """The readings of a log (only those of ``keys``, if given), parsed, with how the judge ran and what it cost."""
    held = list(log.readings(None if keys is None else set(keys)))
    verdicts = [verdict_of(variant, logged) for logged in held]
    rows = [reading_row(variant, logged, verdict) for logged, verdict in zip(held, verdicts, strict=True)]
    dates = sorted(logged.at for logged in held)
    failures = log.failures()
    batched = sum(logged.from_batch for logged in held)
    operation: dict[str, Any] = {
        **operation_of(
            latencies_s=[None if logged.from_batch else logged.reply.latency_s for logged in held],
            prompt_tokens=[logged.reply.prompt_tokens for logged in held],
            cached_tokens=[logged.reply.cached_tokens for logged in held],
            completion_tokens=[logged.reply.completion_tokens for logged in held],
        ),
        "attempts": sum(logged.attempts for logged in held),
        "failed_attempts": failures,
        "spent": spent([(logged.reply, logged.from_batch) for logged in held], log.failures_maybe_billed(), prices),
        "first_at": dates[0] if dates else None,
        "last_at": dates[-1] if dates else None,
    }
    return LoggedRun(
        readings=Readings.from_rows(rows, ties_allowed=variant.ties_allowed),
        operation=operation,
        reported_models=tuple(sorted({logged.reply.model for logged in held} - {""})),
        notes=tuple(_notes(log, variant, held, verdicts, failures)),
        provenance={"calls_by_batch": f"{batched} of {len(held)}"} if batched else {},
    )


def _notes(
    log: TrialLog,
    variant: PromptVariant,
    held: list[LoggedReading],
    verdicts: list[Verdict],
    failures: Mapping[str, int],
) -> list[str]:
    """What the replies themselves give a reader to think about."""
    notes = [
        *_identity_notes(log, held),
        *_kept_notes(held),
        *_reply_notes(variant, held, verdicts),
        *_truncation_notes(held),
    ]
    timeouts, calls = failures.get("timeout", 0), len(held)
    if timeouts > _MANY_TIMEOUTS * calls:
        notes.append(
            f"{timeouts} calls timed out beside {calls} that were answered: fewer at a time (--concurrency) or a "
            "longer timeout_s may mend it."
        )
    return notes


def _identity_notes(log: TrialLog, held: list[LoggedReading]) -> list[str]:
    notes = []
    asked = log.instrument.get("model", "")
    reported = sorted({logged.reply.model for logged in held} - {"", asked})
    if reported:
        notes.append(f"The judge was asked for as {asked!r} and reported itself as {reported[0]!r}: an alias may move.")
    if len(log.fingerprints()) > 1:
        notes.append("The server's fingerprint changed during the run: its software or hardware may have changed.")
    return notes


def _kept_notes(held: list[LoggedReading]) -> list[str]:
    parsers = Counter(logged.kept.parser for logged in held if logged.kept is not None)
    return [
        f"The judge's own words were not kept for {count} of {len(held)} readings: they can't be read again, and stay "
        f"as the parser {parser} read them."
        for parser, count in sorted(parsers.items())
    ]


def _reply_notes(variant: PromptVariant, held: list[LoggedReading], verdicts: list[Verdict]) -> list[str]:
    notes = []
    off_format = sum(OFF_FORMAT in verdict.flags or verdict.invalid == "no_verdict" for verdict in verdicts)
    if off_format and variant.schema in ("json", "checklist"):
        notes.append(f"{off_format} of {len(verdicts)} replies are not the JSON that the prompt asks for.")
    otherwise = sum(DECLARED_OTHERWISE in verdict.flags for verdict in verdicts)
    if otherwise:
        notes.append(
            f"{otherwise} of {len(verdicts)} replies declare another winner than their own checklist gives: the "
            "checklist counts."
        )
    bare = sum(read_labels(variant, logged.reply) is None for logged in held) if variant.top_logprobs else 0
    if bare:
        notes.append(
            f"{bare} of {len(held)} replies list no candidates that can be read, although the prompt asks for their "
            "log-probabilities: they are in no soft reading."
        )
    for reason, count in sorted(Counter(verdict.invalid for verdict in verdicts if verdict.invalid).items()):
        notes.append(f"{reason.replace('_', ' ')}, {count} of {len(verdicts)}: {REASON_SENTENCES[reason]}")
    filtered = sorted(
        {logged.task for logged, verdict in zip(held, verdicts, strict=True) if verdict.invalid == "filtered"}
    )
    if filtered:
        notes.append(f"Stimuli that a filter withheld are of the tasks: {', '.join(filtered)}.")
    return notes


def _truncation_notes(held: list[LoggedReading]) -> list[str]:
    notes = []
    cut = sum(looks_truncated(logged.prompt_characters, logged.reply.prompt_tokens) for logged in held)
    if cut:
        notes.append(
            f"Possible prompt truncation: for {cut} of {len(held)} calls the server counted far fewer prompt tokens "
            "than the prompt holds. Raise the server's context length."
        )
    counts = {logged.reply.prompt_tokens for logged in held if logged.reply.prompt_tokens is not None}
    characters = {logged.prompt_characters for logged in held}
    if len(counts) == 1 and len(characters) > 1 and len(held) > 1:
        notes.append(
            "Possible prompt truncation: the server counted the same number of prompt tokens for prompts of different "
            "lengths."
        )
    return notes
