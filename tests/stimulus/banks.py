"""Banks for tests, made by program: every task passes all gates, and no two tasks share a block."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

from datasheet.stimulus.bank import Requirement, Task, TaskBank

KINDS = ("colour", "weight", "price", "origin", "delivery")
ANIMALS = (
    *("otter", "heron", "badger", "lynx", "marten", "osprey", "beaver", "stoat", "raven", "hare", "vole", "kestrel"),
    *("plover", "gannet", "shrew", "magpie", "weasel", "bittern", "dormouse", "curlew", "polecat", "siskin", "dunlin"),
)


def make_task(i: int) -> Task:
    """A task about the i-th animal, which reads like a catalogue."""
    animal = ANIMALS[i % len(ANIMALS)] + ("" if i < len(ANIMALS) else f" of series {i // len(ANIMALS)}")
    return Task(
        id=f"toy-{i}-sale",
        domain=f"domain {i % 4}",
        question=f"I want the toy {animal}. Tell me " + ", ".join(f"what {kind} it has" for kind in KINDS) + ".",
        openings=(
            f"The toy {animal} is a favourite with many of our younger visitors.",
            f"Plenty of our younger guests are fond of the toy {animal} here.",
        ),
        requirements=tuple(make_requirement(kind, animal) for kind in KINDS),
        filler=tuple(
            f"Remark {'abcdefghijklmno'[j]} about a {animal} by the pond"
            + " in the quiet summer evening air" * (j % 3)
            + "."
            for j in range(13)
        ),
        reference=f"The toy {animal} has all of the five things that you ask for.",
    )


def make_requirement(kind: str, animal: str) -> Requirement:
    """A requirement whose phrasings keep to the bounds of length."""
    return Requirement(
        id=kind,
        asked=f"what {kind} it has",
        plain=f"The {kind} of the {animal} is as our list says and is checked by the shop.",
        plain_alt=f"Our list names the {kind} for a {animal}, and the shop makes sure of it daily.",
        terse=f"The {kind} of this {animal} is as listed.",
        wordy=f"When it comes to the {kind} that the {animal} happens to have, what you will find is that it is just "
        "as our own list says, which the shop checks.",
    )


def make_bank(n_tasks: int, *, start: int = 0) -> TaskBank:
    """A valid bank of n tasks."""
    return TaskBank(
        name=f"toys-{n_tasks}",
        language="en",
        title="Toy animals",
        license="CC0-1.0",
        tasks=tuple(make_task(i) for i in range(start, start + n_tasks)),
    )


def bank_tables(bank: TaskBank) -> dict[str, object]:
    """The bank as the tables of its file, to be bent by a test."""
    tasks = [asdict(task) for task in bank.tasks]
    for task in tasks:
        task["requirement"] = list(task.pop("requirements"))
        task["openings"], task["filler"] = list(task["openings"]), list(task["filler"])
    head = {"name": bank.name, "language": bank.language, "title": bank.title, "license": bank.license}
    return {"format": "judge-datasheet-bank", "version": 1, **head, "task": tasks}


def to_toml(table: Mapping[str, object], path: str = "") -> str:
    """Just enough of a TOML writer for a bank: JSON texts and lists of texts are TOML too."""
    lines = []
    for key, value in sorted(table.items(), key=lambda item: _is_tables(item[1])):
        if _is_tables(value):
            assert isinstance(value, list)
            for entry in value:
                lines += [f"\n[[{path}{key}]]", to_toml(entry, f"{path}{key}.")]
        else:
            lines.append(f"{json.dumps(key)} = {json.dumps(value)}")
    return "\n".join(lines)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)
