"""From a trial log to readings: parsing is a step of its own, so a better parser can read old logs again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from datasheet.analysis.operation import operation_of
from datasheet.errors import TrialLogError
from datasheet.judge.openai import looks_truncated
from datasheet.prompts import PromptVariant, load_variant, parse
from datasheet.prompts.parsing import OFF_FORMAT
from datasheet.readings import ReadingRow, Readings
from datasheet.records import Verdict
from datasheet.trials.log import TrialLog
from datasheet.trials.tables import LoggedReading


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRun:
    """What a trial log gives to a sheet: readings, how the judge ran, and what a reader should know of it."""

    readings: Readings
    operation: dict[str, Any]
    reported_models: tuple[str, ...]
    notes: tuple[str, ...]


def variant_of(log: TrialLog) -> PromptVariant:
    """The prompt variant that a log was made with.

    Raises
    ------
    TrialLogError
        The variant of that name has changed since, so its replies can't be read as they were meant.
    """
    held = log.instrument
    variant = load_variant(held["prompt"])
    if variant.prompt_hash != held["prompt_hash"]:
        raise TrialLogError(
            f"{log.path} was made with another version of the prompt {held['prompt']!r} "
            f"(hash {held['prompt_hash']}, now {variant.prompt_hash}): read it with the release that made it"
        )
    return variant


def reading_row(logged: LoggedReading, verdict: Verdict) -> ReadingRow:
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
    )


def read_run(log: TrialLog, variant: PromptVariant, keys: Collection[str] | None = None) -> LoggedRun:
    """The readings of a log (only those of ``keys``, if given), parsed, with how the judge ran."""
    held = list(log.readings(None if keys is None else set(keys)))
    verdicts = [parse(variant, logged.reply) for logged in held]
    rows = [reading_row(logged, verdict) for logged, verdict in zip(held, verdicts, strict=True)]
    dates = sorted(logged.at for logged in held)
    operation: dict[str, Any] = {
        **operation_of(
            latencies_s=[logged.reply.latency_s for logged in held],
            prompt_tokens=[logged.reply.prompt_tokens for logged in held],
            completion_tokens=[logged.reply.completion_tokens for logged in held],
        ),
        "attempts": sum(logged.attempts for logged in held),
        "failed_attempts": log.failures(),
        "first_at": dates[0] if dates else None,
        "last_at": dates[-1] if dates else None,
    }
    return LoggedRun(
        readings=Readings.from_rows(rows, ties_allowed=variant.ties_allowed),
        operation=operation,
        reported_models=tuple(sorted({logged.reply.model for logged in held} - {""})),
        notes=tuple(_notes(log, variant, held, verdicts)),
    )


def _notes(log: TrialLog, variant: PromptVariant, held: list[LoggedReading], verdicts: list[Verdict]) -> list[str]:
    notes = []
    asked = log.instrument.get("model", "")
    reported = Counter(logged.reply.model for logged in held if logged.reply.model)
    if any(name != asked for name in reported):
        names = ", ".join(sorted(reported))
        notes.append(f"The judge was asked for as {asked!r} and reported itself as {names!r}: an alias may move.")
    if len(log.fingerprints()) > 1:
        notes.append("The server's fingerprint changed during the run: its software or hardware may have changed.")
    off_format = sum(OFF_FORMAT in verdict.flags or verdict.invalid == "no_verdict" for verdict in verdicts)
    if off_format and variant.schema == "json":
        notes.append(f"{off_format} of {len(verdicts)} replies are not the JSON that the prompt asks for.")
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
