from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from stimulus.banks import bank_tables, make_bank, make_task, to_toml

from datasheet.errors import StimulusError
from datasheet.stimulus.bank import Requirement, Task, TaskBank
from datasheet.stimulus.bank_gates import check_bank

TASK = make_task(0)
LONG = "This sentence is here to be a great deal longer than anything else of its kind in the task at hand."


def with_requirement(i: int = 0, **changes: str) -> Task:
    requirements = [replace(r, **changes) if j == i else r for j, r in enumerate(TASK.requirements)]
    return replace(TASK, requirements=tuple(requirements))


def with_filler(sentence: str) -> Task:
    return replace(TASK, filler=(sentence, *TASK.filler[1:]))


def faults_of(*tasks: Task, language: str = "en") -> list[tuple[str, str]]:
    bank = TaskBank(name="x", language=language, title="x", license="x", tasks=tasks)
    return [(fault.field, fault.message) for fault in check_bank(bank)]


def test_a_good_bank_has_no_faults() -> None:
    assert check_bank(make_bank(30)) == []


FAULTY: dict[str, tuple[Task, str, str]] = {
    "bad id": (replace(TASK, id="Toy Sale"), "id", "small letters"),
    "long id": (replace(TASK, id="a" * 41), "id", "40 at most"),
    "bad requirement id": (with_requirement(id="colour_"), "requirement.colour_.id", "small letters"),
    "same requirement id": (with_requirement(1, id="colour"), "requirement.colour.id", "2 requirements"),
    "empty question": (replace(TASK, question=" "), "question", "is empty"),
    "empty reference": (replace(TASK, reference=""), "reference", "is empty"),
    "empty filler": (with_filler(""), "filler.1", "is empty"),
    "one opening": (replace(TASK, openings=TASK.openings[:1]), "openings", "must be 2, found 1"),
    "four requirements": (replace(TASK, requirements=TASK.requirements[:4]), "requirement", "must be 5, found 4"),
    "clause not asked": (with_requirement(asked="what size it has"), "requirement.colour.asked", "found 0 times"),
    "clause twice": (with_requirement(asked="it has"), "requirement.colour.asked", "found 5 times"),
    "clauses overlap": (
        with_requirement(1, asked="colour it has, what weight"),
        "requirement.weight.asked",
        "overlaps",
    ),
    "terse too long": (with_requirement(terse=LONG), "requirement.colour.terse", "0.4 to 0.65 times the 16 words"),
    "terse too short": (with_requirement(terse="As listed."), "requirement.colour.terse", "found 2"),
    "wordy too short": (with_requirement(wordy=LONG), "requirement.colour.wordy", "1.45 to 2 times the 16 words"),
    "plain_alt too long": (with_requirement(plain_alt=LONG), "requirement.colour.plain_alt", "0.8 to 1.2 times"),
    "openings apart": (replace(TASK, openings=(TASK.openings[0], LONG)), "openings", "within 2 words"),
    "openings equal": (replace(TASK, openings=TASK.openings[:1] * 2), "openings.2", "same text as openings.1"),
    "nine fillers": (replace(TASK, filler=TASK.filler[:9]), "filler", "10 different sentences or more, found 9"),
    "too much filler": (
        replace(TASK, filler=tuple(f"Otter {i} swims by the pond." for i in range(101))),
        "filler",
        "must have 100 at most, found 101",
    ),
    "filler repeated": (with_filler(TASK.filler[3]), "filler.4", "same text as filler.1"),
    "filler too short": (
        replace(TASK, filler=tuple(f"Word {c} here." for c in "abcdefghijkl")),
        "filler",
        "must have 1.3 times the",
    ),
    "phrasings equal": (
        with_requirement(plain_alt=TASK.requirements[0].plain),
        "requirement.colour.plain_alt",
        "same text as requirement.colour.plain",
    ),
    "same phrase twice": (
        with_requirement(1, terse=TASK.requirements[0].terse),
        "requirement.weight.terse",
        "same text as requirement.colour.terse",
    ),
    "requirement in filler": (
        with_filler("We know that the colour of this Otter is, as listed!"),
        "filler.1",
        "holds the text of requirement.colour.terse",
    ),
    "requirement in opening": (
        replace(TASK, openings=(TASK.requirements[2].terse, TASK.requirements[3].terse)),
        "requirement.price.terse",
        "same text as openings.1",
    ),
    "order word": (
        with_requirement(terse="Also, the colour is as listed."),
        "requirement.colour.terse",
        "starts with 'Also'",
    ),
    "verdict": (with_filler("I say [[A]] to the otter by the pond."), "filler.1", "verdict syntax, '[[A]]'"),
    "verdict in words": (with_filler("Answer B is about an otter by the pond."), "filler.1", "verdict syntax"),
    "task id": (with_filler("The toy-0-sale is about an otter."), "filler.1", "identifier 'toy-0-sale'"),
    "level": (replace(TASK, question=TASK.question + " At level 3."), "question", "'level 3'"),
    "arm": (replace(TASK, reference="A filled_longer otter."), "reference", "'filled_longer'"),
    "control": (with_filler("An otter\x07 by the pond."), "filler.1", "U+0007"),
    "bidi": (with_filler("An otter \u202eby the pond."), "filler.1", "U+202E"),
    "two lines": (with_filler("An otter\nby the pond."), "filler.1", "on one line"),
}


@pytest.mark.parametrize("case", FAULTY)
def test_each_gate_names_the_field(case: str) -> None:
    task, field, message = FAULTY[case]
    found = faults_of(task)
    assert any(f == field and message in m for f, m in found), found


SOUND = {
    "Answer a few": with_filler("Answer a few questions about otters by the pond in the quiet summer evening air."),
    "one hyphen": with_requirement(
        id="sea-green", asked="what colour it has", terse="The sea-green otter is as our list says."
    ),
    "compound": with_requirement(terse="First-class colour: the otter is as listed."),
    "a table in the question": replace(TASK, question=TASK.question + "\n\tcolour\n\tweight"),
}


@pytest.mark.parametrize("case", SOUND)
def test_gates_let_good_prose_pass(case: str) -> None:
    assert faults_of(SOUND[case]) == []


def test_order_words_are_those_of_the_language() -> None:
    portuguese = with_requirement(terse="Também a cor segue a lista.")
    assert any("starts with 'Também'" in message for _, message in faults_of(portuguese, language="pt-BR"))
    assert not any("starts with" in message for _, message in faults_of(portuguese))


def test_faults_between_tasks() -> None:
    assert ("id", "2 tasks have this id: give each its own") in faults_of(TASK, replace(make_task(1), id=TASK.id))
    twin = replace(make_task(1), question=TASK.question)
    assert ("question", "is also the question of toy-0-sale") in faults_of(TASK, twin)
    borrowed = replace(make_task(1), requirements=(TASK.requirements[0], *make_task(1).requirements[1:]))
    assert ("requirement.colour.plain", "the task toy-0-sale has the same text") in faults_of(TASK, borrowed)
    assert faults_of() == [("task", "the bank has no tasks")]


def test_a_bank_with_ten_faults_names_all_ten(tmp_path: Path) -> None:
    bank = make_bank(10)
    terse = bank.tasks[3].requirements[0].terse
    changes: list[tuple[str, str, Callable[[Task], Task]]] = [
        ("toy-0-sale", "requirement.colour.terse", lambda t: _requirement(t, terse=LONG)),
        ("toy-1-sale", "openings", lambda t: replace(t, openings=(t.openings[0], LONG))),
        ("toy-2-sale", "requirement.colour.asked", lambda t: _requirement(t, asked="what shape it has")),
        ("toy-3-sale", "filler.1", lambda t: replace(t, filler=(f"Well, {terse}", *t.filler[1:]))),
        ("toy-4-sale", "filler", lambda t: replace(t, filler=t.filler[:8])),
        ("toy-5-sale", "reference", lambda t: replace(t, reference="[[tie]]")),
        ("toy-6-sale", "requirement", lambda t: replace(t, requirements=t.requirements[:4])),
        ("toy-7-sale", "domain", lambda t: replace(t, domain="")),
        ("toy-8-sale", "question", lambda t: replace(t, question=t.question + " (toy-8-sale)")),
        ("Toy 9", "id", lambda t: replace(t, id="Toy 9")),
    ]
    tasks = tuple(change(task) for task, (_, _, change) in zip(bank.tasks, changes, strict=True))
    faulty = replace(bank, tasks=tasks)
    path = tmp_path / "bank.toml"
    path.write_text(to_toml(bank_tables(faulty)), encoding="utf-8")
    expected = {(task, field) for task, field, _ in changes}
    assert {(fault.task, fault.field) for fault in check_bank(path)} >= expected
    assert {(fault.task, fault.field) for fault in check_bank(faulty)} >= expected
    assert {fault.task for fault in check_bank(path)} == {task for task, _ in expected}


def _requirement(task: Task, **changes: str) -> Task:
    first: Requirement = replace(task.requirements[0], **changes)
    return replace(task, requirements=(first, *task.requirements[1:]))


def test_a_missing_text_is_one_fault(tmp_path: Path) -> None:
    tables = bank_tables(make_bank(1))
    del tables["task"][0]["requirement"][0]["terse"]  # type: ignore[index]
    path = tmp_path / "bank.toml"
    path.write_text(to_toml(tables), encoding="utf-8")
    assert [str(fault) for fault in check_bank(path)] == ["toy-0-sale: requirement.colour.terse: is missing"]


def test_no_bank_at_all_is_an_error() -> None:
    with pytest.raises(StimulusError, match="no task bank"):
        check_bank("nowhere.toml")
