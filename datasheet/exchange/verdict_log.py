"""Verdict logs: one reading a line as JSON, for judgements that were made elsewhere or that travel.

An optional first line says what holds for all rows; a row's own field wins. Everything in such a file is untrusted
text: each line is checked, and the first that does not fit is named.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from datasheet.errors import UsageError, VerdictLogError
from datasheet.readings import ReadingRow, Readings
from datasheet.records import ORDERS, OUTCOMES, PROBES
from datasheet.strict_json import decode

FORMAT = "judge-datasheet-verdicts"
VERSION = 1
DEFAULT_ARM = {"ladder": "prefix", "same_quality": "same_subset"}
"""What a row without an arm is read as: the arms of the published protocol."""

_ARM = re.compile(r"[A-Za-z0-9_-]{0,40}")
_MAX_LINE_BYTES = 64_000_000  # a judge's answer of 8 MB fits, whatever its characters turn into as JSON
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)")
_UNEXPLAINED = "unexplained"
_KNOWN_UNUSED = (
    *("answer_a", "answer_b", "maker_a", "maker_b", "human", "humans", "raw", "strength", "slice", "at"),
    *("p_first", "p_second", "p_tie", "score_a", "score_b", "checklist_a", "checklist_b", "reported_model"),
    *("trial", "finish_reason", "refusal", "prompt_tokens", "completion_tokens", "latency_s", "fingerprint"),
    *("reasoning", "logprobs"),
)


@dataclass(slots=True)
class CallColumns:
    """How the calls went, as far as a log tells: one element a row that says so."""

    latencies_s: list[float] = field(default_factory=list)
    prompt_tokens: list[int | None] = field(default_factory=list)
    completion_tokens: list[int | None] = field(default_factory=list)
    dates: set[str] = field(default_factory=set)
    reported_models: set[str] = field(default_factory=set)

    def add(self, row: Mapping[str, Any]) -> None:
        """Take what a row tells; a value that is not what it should be is left aside."""
        latency_s = seconds_of(row.get("latency_s"))
        if latency_s is not None:
            self.latencies_s.append(latency_s)
            self.prompt_tokens.append(count_of(row.get("prompt_tokens")))
            self.completion_tokens.append(count_of(row.get("completion_tokens")))
        date = row.get("at")
        if isinstance(date, str) and _is_date(date):
            self.dates.add(date)
        if isinstance(row.get("reported_model"), str):
            self.reported_models.add(row["reported_model"])


def _is_date(text: str) -> bool:
    try:
        return _DATE.fullmatch(text) is not None and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


_CALL_FIELDS = frozenset(("latency_s", "prompt_tokens", "completion_tokens", "at", "reported_model"))


def count_of(value: object) -> int | None:
    """A number of tokens, or None where a value is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def seconds_of(value: object) -> float | None:
    """A time in seconds, or None where a value is none."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictLog:
    """One judge's readings from a verdict log, and what its first line said.

    Attributes
    ----------
    header
        The first line's fields; empty where there is none.
    judge, prompt
        Names in the rows; "" where the log does not say.
    calls
        How the calls went.
    """

    path: str
    header: Mapping[str, Any]
    judge: str
    prompt: str
    readings: Readings
    calls: CallColumns


def json_lines(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of each line of a JSONL file that is not blank.

    Raises
    ------
    VerdictLogError
        The file can't be read, or a line is not one JSON object; the message names it.
    """
    name = Path(path).name
    try:
        with open(path, "rb") as stream:
            for number, line in enumerate(iter(lambda: stream.readline(_MAX_LINE_BYTES + 1), b""), start=1):
                if len(line) > _MAX_LINE_BYTES:
                    raise VerdictLogError(f"{name} line {number}: longer than {_MAX_LINE_BYTES:,} bytes")
                text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if text.strip():
                    yield number, _json_object(text, f"{name} line {number}")
    except OSError as problem:
        raise VerdictLogError(f"{path} can't be read: {problem.strerror}") from None


def _json_object(line: bytes, where: str) -> dict[str, Any]:
    try:
        row = decode(line.decode("utf-8").strip())
    except UnicodeDecodeError:
        raise VerdictLogError(f"{where}: not UTF-8 text") from None
    except ValueError as problem:
        hint = " (single quotes? JSON wants double ones)" if line.lstrip()[1:2] == b"'" else ""
        raise VerdictLogError(f"{where}: not JSON{hint}: {problem}") from None
    if not isinstance(row, dict):
        raise VerdictLogError(f"{where}: expected a JSON object, found {type(row).__name__}")
    return row


def read_header(rows: Iterator[tuple[int, dict[str, Any]]], name: str) -> tuple[dict[str, Any], Iterable[Any]]:
    """The header, where the first line is one, and the rows that follow."""
    first = next(rows, None)
    if first is None:
        raise VerdictLogError(f"{name} is empty: expected one reading a line (see `datasheet analyze --help`)")
    number, row = first
    if "format" not in row:
        return {}, chain([first], rows)
    if row["format"] != FORMAT:
        raise VerdictLogError(f"{name} line {number}: expected format {FORMAT!r}, found {row['format']!r:.80}")
    if row.get("version") != VERSION:
        raise VerdictLogError(
            f"{name} line {number}: this release reads format version {VERSION}, found {row.get('version')!r:.20}"
        )
    return row, rows


def read_verdict_log(path: str | Path, *, judge: str | None = None, prompt: str | None = None) -> VerdictLog:
    """The readings of one judge under one prompt from a verdict log.

    Parameters
    ----------
    judge, prompt
        Which, where the log holds several.

    Raises
    ------
    VerdictLogError
        A line that does not fit: not JSON, a missing field, an unknown value, a reading given twice.
    UsageError
        Several judges or prompts and none chosen, or the chosen one is not there.
    """
    name = Path(path).name
    header, rows = read_header(json_lines(path), name)
    reader = _RowReader(name, header)
    for number, row in rows:
        reader.add(number, row)
    return reader.finish(str(path), judge, prompt)


class _RowReader:
    """Checks rows one by one and keeps what the analysis needs of them."""

    def __init__(self, name: str, header: Mapping[str, Any]) -> None:
        self._name = name
        self._header = header
        self._kept: dict[tuple[str, str], list[ReadingRow]] = {}
        self._ties: dict[tuple[str, str], dict[bool | None, int]] = {}
        self._lines: dict[tuple[Any, ...], int] = {}
        self._pairs: dict[str, tuple[tuple[Any, ...], int]] = {}
        self._fields: set[str] = set()
        self._calls: dict[tuple[str, str], CallColumns] = {}
        self._arm_assumed = False

    def add(self, number: int, row: Mapping[str, Any]) -> None:
        where = f"{self._name} line {number}"
        given = _checked({**self._header, **row} if self._header else row, where)
        reading = self._reading(given, where)
        who = (given.get("judge") or "", given.get("prompt") or "")
        self._refuse_repetition(reading, who, number)
        ties_allowed = given.get("ties_allowed")
        if ties_allowed is False and reading.outcome == "tie":
            raise VerdictLogError(
                f"{where}: the verdict is a tie, and ties are not allowed (ties_allowed false): "
                "say true, or give an invalid reading as null"
            )
        self._kept.setdefault(who, []).append(reading)
        calls = self._calls.setdefault(who, CallColumns())
        if not _CALL_FIELDS.isdisjoint(row):
            calls.add(row)
        self._ties.setdefault(who, {}).setdefault(ties_allowed, number)
        self._fields.update(row)

    def _refuse_repetition(self, reading: ReadingRow, who: tuple[str, str], number: int) -> None:
        """A reading is given once, and the readings of a pair agree on what the pair is."""
        pair = reading.stimulus
        key = (*who, pair, reading.order, reading.repeat)
        line = self._lines.setdefault(key, number)
        if line != number:
            raise VerdictLogError(
                f"{self._name}: lines {line} and {number} give the same reading twice "
                f"(pair {pair!r:.80}, order {reading.order}, repeat {reading.repeat}): keep one, or number the repeats"
            )
        facts = (reading.probe, reading.arm, reading.task, reading.delta_q, reading.dose)
        known, line = self._pairs.setdefault(pair, (facts, number))
        if known != facts:
            raise VerdictLogError(
                f"{self._name}: lines {line} and {number} describe pair {pair!r:.80} differently "
                f"(probe, arm, task, delta_q, dose): {known} and {facts}"
            )

    def _reading(self, given: Mapping[str, Any], where: str) -> ReadingRow:
        for needed in ("pair", "order", "verdict", "probe"):
            if needed not in given or (given[needed] is None and needed != "verdict"):
                hint = " (null is an invalid reading)" if needed == "verdict" else ""
                raise VerdictLogError(f"{where}: the field {needed!r} is missing{hint}")
        outcome, invalid, probe, arm = given["verdict"], given.get("invalid"), given["probe"], given.get("arm")
        if outcome is not None and invalid is not None:
            raise VerdictLogError(f"{where}: has the verdict {outcome!r} and is marked invalid ({invalid!r:.80})")
        if arm is None:
            arm = DEFAULT_ARM.get(probe, "")
            self._arm_assumed |= probe in DEFAULT_ARM
        elif arm in ORDERS or not _ARM.fullmatch(arm):
            raise VerdictLogError(
                f"{where}: 'arm' should be a name of letters, digits, '_' and '-' (at most 40, not ab or ba), "
                f"found {arm!r:.80}"
            )
        return ReadingRow(
            stimulus=given["pair"],
            probe=probe,
            order=given["order"],
            outcome=outcome,
            invalid=(invalid or _UNEXPLAINED) if outcome is None else None,
            abstained=given.get("abstained") or False,
            arm=arm,
            task=given.get("task"),
            delta_q=_delta_q(given, probe, where),
            level_a=given.get("level_a"),
            level_b=given.get("level_b"),
            length_a=given.get("length_a"),
            length_b=given.get("length_b"),
            filler_b=given.get("filler_b"),
            dose=given.get("dose"),
            repeat=given.get("repeat") or 0,
        )

    def finish(self, path: str, judge: str | None, prompt: str | None) -> VerdictLog:
        if not self._kept:
            raise VerdictLogError(f"{self._name} holds no reading: expected one a line after the first")
        who = _choose(self._kept, judge, prompt, self._name)
        said = self._ties[who]
        if len(said) > 1:
            lines = " and ".join(str(line) for line in said.values())
            raise VerdictLogError(
                f"{self._name}: lines {lines} differ in 'ties_allowed': readings made under prompts that do and do not "
                "allow ties are not one instrument; give them different 'prompt' names"
            )
        ties_allowed = next(iter(said))
        notes = []
        if ties_allowed is None:
            notes.append(
                "The log does not say whether the prompt allowed ties: it is taken to have (ties_allowed true)."
            )
        if self._arm_assumed:
            notes.append("Rows without an arm are read as the published protocol's: prefix, and same_subset.")
        unknown = self._fields.difference(_CHECKS, _KNOWN_UNUSED)
        if unknown:
            names = ", ".join(sorted(unknown)[:12])
            notes.append(f"Fields that this analysis does not know were left aside: {names}.")
        readings = Readings.from_rows(
            self._kept[who],
            ties_allowed=True if ties_allowed is None else ties_allowed,
            length_unit=_text(self._header.get("length_unit"), "length_unit", f"{self._name} line 1") or "words",
            notes=tuple(notes),
        )
        return VerdictLog(
            path=path,
            header=self._header,
            judge=who[0],
            prompt=who[1],
            readings=readings,
            calls=self._calls[who],
        )


def _choose(
    kept: Mapping[tuple[str, str], object], judge: str | None, prompt: str | None, name: str
) -> tuple[str, str]:
    """The one (judge, prompt) that was asked for, or the only one."""
    matching = [who for who in kept if judge in (None, who[0]) and prompt in (None, who[1])]
    judges, prompts = sorted({who[0] for who in kept}), sorted({who[1] for who in kept})
    if not matching:
        raise UsageError(
            f"{name} has no reading of judge {judge!r} under prompt {prompt!r}: "
            f"its judges are {', '.join(map(repr, judges))}; its prompts {', '.join(map(repr, prompts))}"
        )
    if len(matching) == 1:
        return matching[0]
    if len({who[0] for who in matching}) > 1:
        raise UsageError(
            f"{name} holds the readings of {len(judges)} judges ({', '.join(judges[:12])}): choose one with --judge"
        )
    raise UsageError(
        f"{name} holds the readings of {len(prompts)} prompts ({', '.join(prompts[:12])}): choose one with --prompt"
    )


def _text(value: Any, field: str, where: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise VerdictLogError(f"{where}: {field!r} should be text, found {value!r:.80}")


def _boolean(value: Any, field: str, where: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise VerdictLogError(f"{where}: {field!r} should be true or false, found {value!r:.80}")


def _whole(value: Any, field: str, where: str) -> int | None:
    if value is None or (type(value) is int and 0 <= value < 2**31):
        return value
    raise VerdictLogError(f"{where}: {field!r} should be a whole number of 0 or more, found {value!r:.80}")


def _length(value: Any, field: str, where: str) -> int | None:
    if value is None or (type(value) is int and 0 <= value < 2**31):
        return value
    if type(value) is float and 0 <= value < 2**31:
        return round(value)
    raise VerdictLogError(f"{where}: {field!r} should be a length of 0 or more, found {value!r:.80}")


def _one_of(*allowed: str) -> Callable[[Any, str, str], str]:
    def check(value: Any, field: str, where: str) -> str:
        if isinstance(value, str) and value in allowed:
            return value
        raise VerdictLogError(f"{where}: {field!r} should be one of {', '.join(allowed)}, found {value!r:.80}")

    return check


_outcome = _one_of(*OUTCOMES)


def _verdict(value: Any, field: str, where: str) -> str | None:
    return None if value is None else _outcome(value, field, where)


_CHECKS: Mapping[str, Callable[[Any, str, str], Any]] = {
    **dict.fromkeys(("pair", "judge", "prompt", "invalid", "arm", "task"), _text),
    **dict.fromkeys(("ties_allowed", "abstained"), _boolean),
    **dict.fromkeys(("delta_q", "dose", "level_a", "level_b", "repeat"), _whole),
    **dict.fromkeys(("length_a", "length_b", "filler_b"), _length),
    "order": _one_of(*ORDERS),
    "probe": _one_of(*PROBES),
    "verdict": _verdict,
}
"""The fields that the analysis uses, and what each must be."""


def _checked(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The fields of a row that the analysis uses, each found to be what it must be."""
    return {field: check(value, field, where) for field, value in row.items() if (check := _CHECKS.get(field))}


def _delta_q(given: Mapping[str, Any], probe: str, where: str) -> int | None:
    """Quality steps of a row: as given, or from its levels; they must agree, and a ladder row needs them."""
    delta_q, level_a, level_b = given.get("delta_q"), given.get("level_a"), given.get("level_b")
    if level_a is not None and level_b is not None:
        if level_a < level_b:
            raise VerdictLogError(f"{where}: answer a must be the better one, found levels {level_a} and {level_b}")
        if delta_q is None:
            delta_q = level_a - level_b
        elif delta_q != level_a - level_b:
            raise VerdictLogError(f"{where}: delta_q {delta_q} is not level_a - level_b = {level_a - level_b}")
    if probe == "ladder" and not delta_q:
        raise VerdictLogError(f"{where}: a ladder row needs delta_q of 1 or more, found {delta_q!r}")
    if probe == "same_quality" and delta_q:
        raise VerdictLogError(f"{where}: a same_quality row has delta_q 0, found {delta_q}")
    return delta_q


def write_verdict_log(path: str | Path, header: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> int:
    """Write a verdict log, one object a line in UTF-8, whole or not at all; returns how many readings were written.

    Raises
    ------
    VerdictLogError
        The file can't be written, or what has its name is no file.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise VerdictLogError(f"{path} can't be written: it is no file, but a folder or a device; name a file")
    part = target.with_name(f"{target.name}.part")
    try:
        count = _write_lines(part, {"format": FORMAT, "version": VERSION, **header}, rows)
        os.replace(part, target)
    except OSError as problem:
        raise VerdictLogError(f"{path} can't be written: {problem.strerror}") from None
    finally:
        with suppress(OSError):
            part.unlink()
    return count


def _write_lines(path: Path, header: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    # Half a surrogate pair is no UTF-8: replaced by a backslash it is JSON's own way to write it.
    with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
        stream.write(_line(header))
        for row in rows:
            stream.write(_line(row))
            count += 1
    return count


def _line(row: Mapping[str, Any]) -> str:
    given = {key: value for key, value in row.items() if value is not None or key == "verdict"}
    return json.dumps(given, ensure_ascii=False, allow_nan=False) + "\n"
