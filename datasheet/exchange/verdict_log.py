"""Verdict logs: one reading a line as JSON, for judgements that were made elsewhere or that travel.

An optional first line says what holds for all rows; a row's own field wins. Everything in such a file is untrusted
text: each line is checked by itself and the first that does not fit is named, then the lines are held to each other.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from datasheet.errors import UsageError, VerdictLogError
from datasheet.exchange.agreement import refuse_disagreement
from datasheet.exchange.calls import CALL_FIELDS, CallColumns
from datasheet.exchange.fields import CHECKS, KNOWN_UNUSED, checked, complete_reading, text_of
from datasheet.exchange.json_lines import json_lines
from datasheet.files import write_whole
from datasheet.readings import ReadingColumns, Readings

FORMAT = "judge-datasheet-verdicts"
VERSION = 1


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


def read_header(rows: Iterator[tuple[int, dict[str, Any]]], name: str) -> tuple[dict[str, Any], Iterable[Any]]:
    """The header, where the first line is one, and the rows that follow.

    Raises
    ------
    VerdictLogError
        There is no line at all, or the header is of another format or version.
    """
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
    """Checks rows one by one and keeps what the analysis needs of them, as columns."""

    def __init__(self, name: str, header: Mapping[str, Any]) -> None:
        self._name = name
        self._header = header
        self._common = checked(header, f"{name} line 1")
        self._columns = ReadingColumns()
        self._lines, self._instruments = array("i"), array("i")
        self._who: dict[tuple[str, str], int] = {}
        self._ties: dict[tuple[str, str], dict[bool | None, int]] = {}
        self._calls: dict[tuple[str, str], CallColumns] = {}
        self._fields: set[str] = set()
        self._arm_assumed = False
        self._lack_floor = 0

    def add(self, number: int, row: Mapping[str, Any]) -> None:
        where = f"{self._name} line {number}"
        given = self._common | checked(row, where)
        self._arm_assumed |= complete_reading(given, where)
        self._lack_floor += given["lacks_floor"]
        who = (given.get("judge") or "", given.get("prompt") or "")
        if who not in self._who:
            self._who[who], self._ties[who], self._calls[who] = len(self._who), {}, CallColumns()
        self._columns.add(given)
        self._lines.append(number)
        self._instruments.append(self._who[who])
        if not CALL_FIELDS.isdisjoint(row):
            self._calls[who].add(row)
        self._ties[who].setdefault(given.get("ties_allowed"), number)
        self._fields.update(row)

    def finish(self, path: str, judge: str | None, prompt: str | None) -> VerdictLog:
        if not self._who:
            raise VerdictLogError(f"{self._name} holds no reading: expected one a line after the first")
        refuse_disagreement(self._columns, lines=self._lines, instruments=self._instruments, name=self._name)
        who = _choose(self._who, judge, prompt, self._name)
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
        unit = text_of(self._header.get("length_unit"), "length_unit", f"{self._name} line 1")
        if not unit and {"length_a", "length_b", "filler_b"} & self._fields:
            notes.append("The log gives lengths and no length_unit in its first line: they are taken to be in words.")
        unknown = self._fields.difference(CHECKS, KNOWN_UNUSED)
        if unknown:
            names = ", ".join(sorted(unknown)[:12])
            notes.append(f"Fields that this analysis does not know were left aside: {names}.")
        if self._lack_floor:
            notes.append(
                f"{self._lack_floor} rows give the probabilities of some labels and no p_floor, the least that was "
                "listed: how likely the others may be is not known, so that no soft figure is made of this log."
            )
        readings = self._columns.readings(
            np.array(self._instruments) == self._who[who],
            ties_allowed=True if ties_allowed is None else ties_allowed,
            length_unit=unit or "words",
            notes=tuple(notes),
        )
        if self._lack_floor:
            readings = replace(readings, labels=None)
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


def write_verdict_log(path: str | Path, header: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> int:
    """Write a verdict log, one object a line in UTF-8, whole or not at all; returns how many readings were written.

    Raises
    ------
    VerdictLogError
        The file can't be written, or what has its name is no file.
    """
    count = 0

    def lines() -> Iterator[str]:
        nonlocal count
        yield _line({"format": FORMAT, "version": VERSION, **header})
        for count, row in enumerate(rows, start=1):  # noqa: B007 - the last number is what was written
            yield _line(row)

    try:
        write_whole(Path(path), lines())
    except OSError as problem:
        raise VerdictLogError(f"{path} can't be written: {problem.strerror}") from None
    return count


def _line(row: Mapping[str, Any]) -> str:
    given = {key: value for key, value in row.items() if value is not None or key == "verdict"}
    return json.dumps(given, ensure_ascii=False, allow_nan=False) + "\n"
