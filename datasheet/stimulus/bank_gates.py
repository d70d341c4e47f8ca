"""Gates for banks: what the texts of a task must be for its ladder to mean what the sheet says.

Gates report, they don't repair: each gives every fault that it finds, with its task and its field.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from datasheet.records import word_count
from datasheet.stimulus.bank import (
    FILLER_LIMIT,
    N_OPENINGS,
    N_REQUIREMENTS,
    PHRASINGS,
    Fault,
    Task,
    TaskBank,
    read_bank,
    shape_faults,
)
from datasheet.stimulus.texts import text_faults

ID_LENGTH = 40
TERSE_RATIOS = (0.4, 0.65)
WORDY_RATIOS = (1.45, 2.0)
PLAIN_ALT_RATIOS = (0.8, 1.2)
OPENINGS_APART_WORDS = 2
FILLER_DISTINCT = 10
FILLER_RATIO = 1.3

_BLOCKS_COMPARED = N_OPENINGS + FILLER_LIMIT + len(PHRASINGS) * N_REQUIREMENTS
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# Words that tie a sentence to its place, by the primary subtag of the bank's language.
_ORDER_WORDS = {
    "en": "also|then|first|firstly|second|secondly|third|thirdly|next|moreover|furthermore|besides|finally|lastly"
    "|in addition|additionally|afterwards|after that",
    "pt": "também|então|primeiro|primeiramente|terceiro|depois|além disso|ademais|em seguida|finalmente|por fim"
    "|por último",
}


def check_bank(bank: TaskBank | str | Path) -> list[Fault]:
    """Every fault of a bank, or of the bank of a name or a file.

    Raises
    ------
    StimulusError
        The file is not there or is not TOML, so that there is nothing to check.
    """
    if isinstance(bank, TaskBank):
        shape = [fault for task in bank.tasks for fault in shape_faults(task)]
    else:
        bank, shape = read_bank(bank)
    # A text that is missing breaks many gates; only the first reason helps.
    known = {(fault.task, fault.field) for fault in shape}
    content = (fault for task in bank.tasks for fault in _task_faults(task, bank.language))
    found = [*shape, *(f for f in [*_bank_faults(bank), *content] if (f.task, f.field) not in known)]
    return list(dict.fromkeys(found))


def _bank_faults(bank: TaskBank) -> Iterator[Fault]:
    """Faults that only show between tasks."""
    if not bank.tasks:
        yield Fault(task="", field="task", message="the bank has no tasks")
    for identifier, n in Counter(task.id for task in bank.tasks).items():
        if n > 1:
            yield Fault(task=identifier, field="id", message=f"{n} tasks have this id: give each its own")
    first_seen: dict[str, str] = {}
    for task in bank.tasks:
        if _plain(task.question) and first_seen.setdefault(_plain(task.question), task.id) != task.id:
            other = first_seen[_plain(task.question)]
            yield Fault(task=task.id, field="question", message=f"is also the question of {other}")
        for field, text in _phrasings(task):
            if first_seen.setdefault(_plain(text), task.id) != task.id:
                other = first_seen[_plain(text)]
                yield Fault(task=task.id, field=field, message=f"the task {other} has the same text")


def _task_faults(task: Task, language: str) -> Iterator[Fault]:
    for field, message in (
        *_id_faults(task),
        *_asked_faults(task),
        *_length_faults(task),
        *_filler_faults(task),
        *_overlap_faults(task),
        *_wording_faults(task, language),
        *_hidden_faults(task),
    ):
        yield Fault(task=task.id, field=field, message=message)


def _id_faults(task: Task) -> Iterator[tuple[str, str]]:
    fields = [("id", task.id), *((f"requirement.{r.id}.id", r.id) for r in task.requirements)]
    for field, identifier in fields:
        if not _ID.fullmatch(identifier) or len(identifier) > ID_LENGTH:
            yield (
                field,
                f"must be of small letters, digits and single hyphens, {ID_LENGTH} at most; found {identifier!r}",
            )
    for identifier, n in Counter(r.id for r in task.requirements).items():
        if n > 1:
            yield f"requirement.{identifier}.id", f"{n} requirements of the task have this id: give each its own"


def _asked_faults(task: Task) -> Iterator[tuple[str, str]]:
    """Each requirement has its own clause in the question, so that a judge can know what a better answer is."""
    question = " ".join(task.question.split())
    spans: list[tuple[int, int, str]] = []
    for requirement in task.requirements:
        field, clause = f"requirement.{requirement.id}.asked", " ".join(requirement.asked.split())
        if not clause or not question:
            continue
        if question.count(clause) != 1:
            yield field, f"must stand in the question, word for word and once; found {question.count(clause)} times"
            continue
        start = question.index(clause)
        for other_start, other_end, other in spans:
            if start < other_end and other_start < start + len(clause):
                yield field, f"overlaps the clause of {other}: each requirement needs a clause of its own"
        spans.append((start, start + len(clause), requirement.id))


def _length_faults(task: Task) -> Iterator[tuple[str, str]]:
    for requirement in task.requirements:
        plain_words = word_count(requirement.plain)
        for name, (low, high) in (
            ("terse", TERSE_RATIOS),
            ("wordy", WORDY_RATIOS),
            ("plain_alt", PLAIN_ALT_RATIOS),
        ):
            words = word_count(requirement.phrasings[name])
            if words and plain_words and not low <= words / plain_words <= high:
                yield (
                    f"requirement.{requirement.id}.{name}",
                    f"must have {low:g} to {high:g} times the {plain_words} words of plain, found {words}",
                )
    lengths = [word_count(opening) for opening in task.openings]
    if lengths and max(lengths) - min(lengths) > OPENINGS_APART_WORDS:
        yield "openings", f"must be within {OPENINGS_APART_WORDS} words of each other, found {lengths}"


def _filler_faults(task: Task) -> Iterator[tuple[str, str]]:
    distinct = {_plain(sentence) for sentence in task.filler}
    if len(distinct) < FILLER_DISTINCT:
        yield "filler", f"must have {FILLER_DISTINCT} different sentences or more, found {len(distinct)}"
    words = sum(word_count(sentence) for sentence in task.filler)
    top = max(map(word_count, task.openings), default=0) + sum(word_count(r.plain) for r in task.requirements)
    if words < FILLER_RATIO * top:
        yield "filler", f"must have {FILLER_RATIO:g} times the {top} words of the full answer, found {words} words"


def _overlap_faults(task: Task) -> Iterator[tuple[str, str]]:
    """No block says what another block says: else an answer's level would not be what it is counted as."""
    blocks = [(field, _plain(text)) for field, text in task.texts() if field not in ("question", "reference")]
    # A task with more blocks than any good one has a fault for that already; don't compare them all.
    for (field, text), (other_field, other) in combinations(blocks[:_BLOCKS_COMPARED], 2):
        if not text or not other:
            continue
        same_requirement = field.rpartition(".")[0] == other_field.rpartition(".")[0]
        if text == other:
            yield other_field, f"is the same text as {field}"
        elif not (same_requirement and field.startswith("requirement.")):
            if f" {text} " in f" {other} ":
                yield other_field, f"holds the text of {field}"
            elif f" {other} " in f" {text} ":
                yield field, f"holds the text of {other_field}"


def _wording_faults(task: Task, language: str) -> Iterator[tuple[str, str]]:
    words = _ORDER_WORDS.get(language.partition("-")[0].casefold())
    for field, text in _phrasings(task):
        if words and (found := re.match(rf"(?:{words})(?![\w-])", text, re.IGNORECASE)):
            yield field, f"starts with {found[0]!r}: a requirement must read well at any place in an answer"
    for field, text in task.texts():
        if field not in ("question", "reference") and text != " ".join(text.split()):
            yield field, "must stand on one line, with single spaces between words"


def _hidden_faults(task: Task) -> Iterator[tuple[str, str]]:
    identifiers = [task.id, *(requirement.id for requirement in task.requirements)]
    for field, text in task.texts():
        for message in text_faults(text, identifiers=identifiers):
            yield field, message


def _phrasings(task: Task) -> Iterator[tuple[str, str]]:
    """Field and text of the phrasings of requirements that are not empty."""
    return ((field, text) for field, text in task.texts() if field.startswith("requirement.") and _plain(text))


def _plain(text: str) -> str:
    """A text as compared: without case, punctuation and spacing."""
    return " ".join(re.findall(r"\w+", text.casefold()))
