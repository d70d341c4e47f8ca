"""Task banks: questions with the building blocks of graded answers, read from TOML.

Reading is patient: everything that does not fit is collected as a :class:`Fault`, so that an author sees all of it
at once. What the texts must be to make a fair ladder is for :mod:`datasheet.stimulus.bank_gates`.
"""

from __future__ import annotations

import reprlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from datasheet.errors import StimulusError
from datasheet.identity import content_id
from datasheet.resources import stimuli_folder

N_REQUIREMENTS = 5
N_OPENINGS = 2
FILLER_LIMIT = 100
PHRASINGS = ("plain", "plain_alt", "terse", "wordy")

_FORMAT = "judge-datasheet-bank"
_VERSION = 1
_SIZE_LIMIT_BYTES = 5_000_000
_HEAD_TEXTS = ("name", "language", "title", "license")
_TASK_TEXTS = ("id", "domain", "question", "reference")
_TASK_LISTS = ("openings", "filler")
_REQUIREMENT_TEXTS = ("id", "asked", *PHRASINGS)
_FAULTS_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something in a bank or a stimulus that breaks a gate: where it stands, and what is wrong with it.

    ``task`` is the task's id (or its place in the file, where it has none), "" for the head of the bank.
    """

    task: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.task or 'bank'}: {self.field}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One of the five things that a question asks for, in four phrasings of the same content.

    ``asked`` is the clause of the question that asks for it. ``terse`` is about half as long as ``plain``, ``wordy``
    about 1.7 times.
    """

    id: str
    asked: str
    plain: str
    plain_alt: str
    terse: str
    wordy: str

    @property
    def phrasings(self) -> dict[str, str]:
        """The four texts by the name of their phrasing."""
        return {name: getattr(self, name) for name in PHRASINGS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A question, and the blocks of which answers of every level are built.

    Attributes
    ----------
    openings
        Two phrasings of one opening that meets no requirement.
    filler
        Sentences on the topic that meet no requirement.
    reference
        A good full answer, for prompts that show one.
    """

    id: str
    domain: str
    question: str
    openings: tuple[str, ...]
    requirements: tuple[Requirement, ...]
    filler: tuple[str, ...]
    reference: str

    def texts(self) -> Iterator[tuple[str, str]]:
        """Every text of the task that can reach a judge, with the name of its field."""
        yield "question", self.question
        yield "reference", self.reference
        for name, blocks in (("openings", self.openings), ("filler", self.filler)):
            yield from ((f"{name}.{i}", text) for i, text in enumerate(blocks, start=1))
        for requirement in self.requirements:
            for name, text in requirement.phrasings.items():
                yield f"requirement.{requirement.id}.{name}", text


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBank:
    """The tasks that stimuli are built from."""

    name: str
    language: str
    title: str
    license: str
    tasks: tuple[Task, ...]

    @property
    def bank_hash(self) -> str:
        """Content hash of the tasks: what a comment or a title in the file does not change."""
        return content_id(["bank", [asdict(task) for task in self.tasks]])


def bank_names() -> list[str]:
    """Names of the banks that ship with the package."""
    return sorted(path.stem for path in stimuli_folder().glob("*.toml"))


def load_bank(name_or_path: str | Path) -> TaskBank:
    """A shipped bank by its name, or one of your own by its file.

    Raises
    ------
    StimulusError
        The bank is not there, can't be read, or is not made as a bank is; ``faults`` names every place.
    """
    bank, faults = read_bank(name_or_path)
    if faults:
        lines = [str(fault) for fault in faults]
        more = [f"… and {len(lines) - _FAULTS_SHOWN} more"] if len(lines) > _FAULTS_SHOWN else []
        shown = "\n  ".join(lines[:_FAULTS_SHOWN] + more)
        raise StimulusError(
            f"task bank {name_or_path}: {len(lines)} fault(s) to mend before it can be used:\n  {shown}", tuple(lines)
        )
    return bank


def read_bank(name_or_path: str | Path) -> tuple[TaskBank, list[Fault]]:
    """A bank as far as it can be read, and everything that does not fit its format.

    Raises
    ------
    StimulusError
        There is no such bank, or the file is not TOML at all.
    """
    table = _parse(_locate(name_or_path))
    reader = _Reader()
    tasks = tuple(reader.task(entry, f"task {i}") for i, entry in enumerate(reader.tables(table, "task", ""), start=1))
    bank = TaskBank(tasks=tasks, **reader.head(table))
    known = {(fault.task, fault.field) for fault in reader.faults}
    shape = (fault for task in tasks for fault in shape_faults(task) if (fault.task, fault.field) not in known)
    return bank, [*reader.faults, *shape]


def shape_faults(task: Task) -> Iterator[Fault]:
    """Numbers of blocks that are not what every bank has, and texts that are empty."""
    for field, found, expected in (
        ("openings", len(task.openings), N_OPENINGS),
        ("requirement", len(task.requirements), N_REQUIREMENTS),
    ):
        if found != expected:
            yield Fault(task=task.id, field=field, message=f"there must be {expected}, found {found}")
    if len(task.filler) > FILLER_LIMIT:
        yield Fault(task=task.id, field="filler", message=f"must have {FILLER_LIMIT} at most, found {len(task.filler)}")
    asked = ((f"requirement.{r.id}.asked", r.asked) for r in task.requirements)
    for field, text in (("id", task.id), ("domain", task.domain), *asked, *task.texts()):
        if not text.strip():
            yield Fault(task=task.id, field=field, message="is empty: write a text")


def _locate(name_or_path: str | Path) -> Path:
    """The file of a bank: a shipped name goes before a file of the same name."""
    names = bank_names()
    if str(name_or_path) in names:
        return stimuli_folder() / f"{name_or_path}.toml"
    path = Path(name_or_path)
    if not path.is_file():
        raise StimulusError(
            f"no task bank {str(name_or_path)!r}: give the path of a bank file or one of the shipped banks "
            f"({', '.join(names) or 'none found'})"
        )
    return path


def _parse(path: Path) -> dict[str, object]:
    """The TOML table in a file, under a limit of size."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(_SIZE_LIMIT_BYTES + 1)
    except OSError as error:
        raise StimulusError(
            f"task bank {path} can't be read: {error.strerror}; check the file's permissions"
        ) from error
    if len(raw) > _SIZE_LIMIT_BYTES:
        limit_mb = _SIZE_LIMIT_BYTES // 1_000_000
        raise StimulusError(f"task bank {path} is larger than {limit_mb} MB: split it into several banks")
    try:
        return tomllib.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise StimulusError(f"task bank {path} is not UTF-8 at line {line}: save it as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise StimulusError(f"task bank {path} is not valid TOML: {error}; see stimuli/README.md") from error


class _Reader:
    """Turns TOML tables into records; what is missing or of a wrong type becomes empty and a fault."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def head(self, table: Mapping[str, object]) -> dict[str, str]:
        """The texts at the top of the file, after checking that it is a bank of this version."""
        self.known(table, ("format", "version", "task", *_HEAD_TEXTS), task="")
        for key, expected in (("format", _FORMAT), ("version", _VERSION)):
            if table.get(key) != expected or isinstance(table.get(key), bool):
                found = reprlib.repr(table[key]) if key in table else "nothing"
                self.fault("", key, f"must be {expected!r}, found {found}")
        return {key: self.text(table, key, task="") for key in _HEAD_TEXTS}

    def task(self, table: Mapping[str, object], place: str) -> Task:
        """A task; faults name it by its id, or by its place where it has none."""
        identifier = table.get("id")
        name = identifier if isinstance(identifier, str) and identifier.strip() else place
        self.known(table, ("requirement", *_TASK_TEXTS, *_TASK_LISTS), task=name)
        texts = {key: self.text(table, key, task=name) for key in _TASK_TEXTS} | {"id": name}
        blocks = {key: self.texts(table, key, task=name) for key in _TASK_LISTS}
        requirements = tuple(
            self.requirement(entry, str(i), name)
            for i, entry in enumerate(self.tables(table, "requirement", name), start=1)
        )
        return Task(requirements=requirements, **texts, **blocks)  # type: ignore[arg-type]

    def requirement(self, table: Mapping[str, object], place: str, task: str) -> Requirement:
        """A requirement of a task."""
        identifier = table.get("id")
        name = identifier if isinstance(identifier, str) and identifier.strip() else place
        path = f"requirement.{name}."
        self.known(table, _REQUIREMENT_TEXTS, task=task, path=path)
        texts = {key: self.text(table, key, task=task, path=path) for key in _REQUIREMENT_TEXTS} | {"id": name}
        return Requirement(**texts)

    def known(self, table: Mapping[str, object], keys: Sequence[str], *, task: str, path: str = "") -> None:
        """Report keys that a bank does not have: most are slips of the pen in the name of one that it has."""
        for key in table:
            if key not in keys:
                self.fault(task, path + key, f"is no field of a bank: expected one of {', '.join(keys)}")

    def text(self, table: Mapping[str, object], key: str, *, task: str, path: str = "") -> str:
        """A text without the line ends around it."""
        if key not in table:
            self.fault(task, path + key, "is missing")
            return ""
        return self.stripped(table[key], task, path + key)

    def texts(self, table: Mapping[str, object], key: str, *, task: str) -> tuple[str, ...]:
        """A list of texts."""
        value = table.get(key)
        if not isinstance(value, list):
            self.fault(task, key, f"must be a list of texts, found {_kind(value)}")
            return ()
        return tuple(self.stripped(text, task, f"{key}.{i}") for i, text in enumerate(value, start=1))

    def tables(self, table: Mapping[str, object], key: str, task: str) -> list[Mapping[str, object]]:
        """The tables under ``[[key]]``."""
        value = table.get(key)
        if not isinstance(value, list) or not value or not all(isinstance(entry, dict) for entry in value):
            self.fault(task, key, f"must stand as one [[…{key}]] after another, found {_kind(value)}")
            return []
        return value

    def stripped(self, value: object, task: str, field: str) -> str:
        if isinstance(value, str):
            return value.strip(" \t\r\n")
        self.fault(task, field, f"must be a text, found {_kind(value)}")
        return ""

    def fault(self, task: str, field: str, message: str) -> None:
        self.faults.append(Fault(task=task, field=field, message=message))


def _kind(value: object) -> str:
    """A TOML value's type in an author's words."""
    names = {type(None): "nothing", bool: "true or false", int: "a number", float: "a number", str: "a text"}
    return names.get(
        type(value), "a list" if isinstance(value, list) else "a table" if isinstance(value, dict) else "a date"
    )
