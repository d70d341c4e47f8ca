"""The lexicon of a bank: what a simulated observer needs to read its texts as a judge would."""

from __future__ import annotations

from datasheet.records import Lexicon
from datasheet.stimulus.bank import TaskBank
from datasheet.stimulus.channels import channel_phrases


def make_lexicon(bank: TaskBank) -> Lexicon:
    """All phrasings of all requirements, filler, second openings, and the channels' phrases in the bank's language."""
    return Lexicon(
        requirements={
            phrase: (task.id, requirement.id)
            for task in bank.tasks
            for requirement in task.requirements
            for phrase in requirement.phrasings.values()
        },
        filler=frozenset(sentence for task in bank.tasks for sentence in task.filler),
        channels=channel_phrases(bank.language),
        second_openings=frozenset(task.openings[1] for task in bank.tasks),
    )
