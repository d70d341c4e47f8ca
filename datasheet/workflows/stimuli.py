"""``datasheet stimuli``: what banks there are, what a judge sees of them, and whether they pass their gates."""

from __future__ import annotations

from typing import Any

from datasheet.errors import StimulusError, UsageError
from datasheet.prompts import load_variant, render
from datasheet.stimulus.bank import TaskBank, bank_names, load_bank
from datasheet.stimulus.bank_gates import check_bank
from datasheet.stimulus.channels import channel_languages
from datasheet.stimulus.design import DESIGNS, plan


def banks() -> list[dict[str, Any]]:
    """The shipped banks."""
    return [
        {
            "name": name,
            "language": bank.language,
            "tasks": len(bank.tasks),
            "hash": bank.bank_hash,
            "title": bank.title,
        }
        for name in bank_names()
        for bank in [load_bank(name)]
    ]


def shown_bank(name: str) -> dict[str, Any]:
    """A bank's head and its tasks."""
    bank = load_bank(name)
    return {
        "name": bank.name,
        "title": bank.title,
        "language": bank.language,
        "hash": bank.bank_hash,
        "tasks": [f"{task.id} ({task.domain})" for task in bank.tasks],
    }


def shown_task(name: str, task_id: str, prompt: str) -> dict[str, Any]:
    """A task as a judge sees it: the question, each answer of its ladder, and one pair rendered with a prompt.

    Raises
    ------
    UsageError
        The bank has no such task.
    """
    bank = load_bank(name)
    if task_id not in {task.id for task in bank.tasks}:
        raise UsageError(f"the bank {bank.name} has no task {task_id!r}: see `datasheet stimuli show {name}`")
    stimuli = [trial.stimulus for trial in plan(bank, _widest(bank))]
    pairs = [shown for shown in stimuli if shown.task == task_id and shown.arm == "prefix"]
    if not pairs:
        raise UsageError(f"no design uses task {task_id!r}: the bank has more tasks than the designs need")
    answers = {shown.level_a: shown.answer_a for shown in pairs} | {shown.level_b: shown.answer_b for shown in pairs}
    pair = max(pairs, key=lambda shown: shown.delta_q)
    messages = render(
        load_variant(prompt),
        question=pair.question,
        first=pair.answer_a,
        second=pair.answer_b,
        reference=pair.reference,
    )
    return {
        "task": task_id,
        "question": pair.question,
        "answers": [f"L{level}: {answers[level]}" for level in sorted(answers, key=lambda level: level or 0)],
        "prompt": prompt,
        "messages": [f"[{role}]\n{text}" for role, text in messages],
    }


def _widest(bank: TaskBank) -> str:
    """The design that reaches most of a bank: most tasks, then most kinds of pairs."""
    fitting = [design for design in DESIGNS.values() if design.n_tasks <= len(bank.tasks)]
    if bank.language.split("-")[0] not in channel_languages():
        fitting = [design for design in fitting if not design.channels]
    if not fitting:
        least = min(design.n_tasks for design in DESIGNS.values())
        raise StimulusError(f"the bank has {len(bank.tasks)} tasks, and the smallest design needs {least}: add tasks")
    return max(fitting, key=lambda design: (design.most_tasks or design.n_tasks, design.channels)).name


def bank_faults(name: str) -> list[dict[str, str]]:
    """Every fault of a bank: of its texts, and, where those pass, of the stimuli that it makes."""
    faults = [{"task": fault.task, "field": fault.field, "message": fault.message} for fault in check_bank(name)]
    if faults:
        return faults
    bank = load_bank(name)
    try:
        plan(bank, _widest(bank))
    except StimulusError as problem:
        return [{"task": bank.name, "field": "stimuli", "message": str(problem)}]
    return []
