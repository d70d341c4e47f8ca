"""Chains: the order in which an answer to a task comes to meet its requirements, level by level."""

from __future__ import annotations

from dataclasses import dataclass

from datasheet.identity import stimulus_id
from datasheet.records import Probe, Stimulus
from datasheet.seeds import child_rng
from datasheet.stimulus.bank import N_REQUIREMENTS, Requirement, Task, TaskBank

LEVELS = range(N_REQUIREMENTS + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A task with its requirements in the order in which the levels add them: level k meets the first k."""

    task: Task
    requirements: tuple[Requirement, ...]

    def answer(self, level: int, *, phrasing: str = "plain", opening: int = 0) -> str:
        """The answer of a level: an opening and the first requirements of the chain, in one phrasing."""
        return self.compose(self.requirements[:level], phrasing=phrasing, opening=opening)

    def compose(self, requirements: tuple[Requirement, ...], *, phrasing: str = "plain", opening: int = 0) -> str:
        """An answer that meets the given requirements."""
        return " ".join([self.task.openings[opening], *(r.phrasings[phrasing] for r in requirements)])

    def stimulus(
        self,
        probe: Probe,
        arm: str,
        answer_a: str,
        answer_b: str,
        *,
        levels: tuple[int, int] | None = None,
        filler_b: int = 0,
        dose: int | None = None,
    ) -> Stimulus:
        """A pair of answers to this chain's question; ``levels`` are those of a and b."""
        level_a, level_b = levels if levels is not None else (None, None)
        return Stimulus(
            id=stimulus_id(self.task.question, answer_a, answer_b),
            probe=probe,
            arm=arm,
            task=self.task.id,
            question=self.task.question,
            answer_a=answer_a,
            answer_b=answer_b,
            level_a=level_a,
            level_b=level_b,
            filler_b=filler_b,
            dose=dose,
            reference=self.task.reference,
        )


def chains(bank: TaskBank, *, seed: int) -> list[Chain]:
    """A chain for each task, in bank order, so that each kind of requirement is at each step equally often.

    Every five tasks share a random Latin square: its rows are their chains, its symbols the places of the
    requirements in the bank. A task's chain depends on the seed and on its place in the bank alone.
    """
    made = []
    for block in range(0, len(bank.tasks), N_REQUIREMENTS):
        square = _latin_square(seed, block)
        for task, row in zip(bank.tasks[block : block + N_REQUIREMENTS], square, strict=False):
            made.append(Chain(task=task, requirements=tuple(task.requirements[kind] for kind in row)))
    return made


def _latin_square(seed: int, block: int) -> list[list[int]]:
    """The cyclic square with its rows, columns and symbols shuffled."""
    rng = child_rng(seed, "chain", block)
    rows, columns, symbols = (rng.permutation(N_REQUIREMENTS).tolist() for _ in range(3))
    return [[symbols[(row + column) % N_REQUIREMENTS] for column in columns] for row in rows]
