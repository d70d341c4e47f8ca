"""Channels: pairs of equal content, of which answer a holds one nuisance at a known dose and answer b is plain.

Answer a is in other words than answer b, at dose 0 too: what that alone does is the channel's intercept, and each
phrase that is added to answer a is one dose. The phrases are data, a file for each language.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from datasheet.records import CHANNELS, Stimulus
from datasheet.resources import stimuli_folder
from datasheet.stimulus.bank import N_REQUIREMENTS, Fault, Requirement, TaskBank
from datasheet.stimulus.chain import Chain

DOSES = range(3)
_LEVELS = (3, 4)

Phrases = Mapping[str, tuple[str, ...]]
"""For each channel, what each of its doses adds."""


def channel_languages() -> list[str]:
    """Languages whose phrases ship with the package."""
    return sorted(path.stem for path in _folder().glob("*.toml"))


def channel_phrases(language: str) -> Phrases:
    """The phrases in a language (``pt-BR`` has those of ``pt``); none where the language has no file."""
    spoken = language.split("-")[0].lower()
    if spoken not in channel_languages():
        return {}
    with (_folder() / f"{spoken}.toml").open("rb") as stream:
        table = tomllib.load(stream)
    return {name: tuple(table[name]) for name in CHANNELS}


def phrase_faults(bank: TaskBank, phrases: Phrases) -> Iterator[Fault]:
    """Texts of a bank that hold a phrase of a channel, so that no answer of theirs would be of dose 0."""
    for task in bank.tasks:
        for field, text in task.texts():
            for name, marks in phrases.items():
                if found := next((mark for mark in marks if mark in text), None):
                    message = f"holds {found!r}, a phrase of the channel {name}: write it in another way"
                    yield Fault(task=task.id, field=field, message=message)


def dosed(chain: Chain, channel: str, dose: int, *, phrases: tuple[str, ...], turn: int) -> Stimulus:
    """A pair of a channel: the same points twice, in other words and with ``dose`` of its phrases on side a.

    The points of a channel are not those that another channel or a same-quality pair of the task shows, so that its
    pair of dose 0 is a stimulus of its own; ``turn``, the place of the task, makes the levels change.
    """
    points = _points(chain, CHANNELS.index(channel), turn)
    plain = chain.compose(points)
    opening = chain.task.openings[1]
    if channel == "format":
        answer_a = _formatted(opening, points, phrases[:dose])
    else:
        added = [f"{phrase} {point.terse}" for phrase, point in zip(phrases, points, strict=False)]
        sentences = (added if channel == "repetition" else phrases)[:dose]
        answer_a = " ".join([chain.compose(points, phrasing="plain_alt", opening=1), *sentences])
    levels = (len(points), len(points))
    return chain.stimulus("channel", channel, answer_a, plain, levels=levels, dose=dose)


def _points(chain: Chain, index: int, turn: int) -> tuple[Requirement, ...]:
    """Neighbours in the chain, taken as a ring, which never begin where the chain does: eight different choices."""
    starts = N_REQUIREMENTS - 1
    level = _LEVELS[(index // starts + turn) % len(_LEVELS)]
    start = 1 + index % starts
    return (*chain.requirements, *chain.requirements)[start : start + level]


def _formatted(opening: str, points: tuple[Requirement, ...], marks: tuple[str, ...]) -> str:
    """Prose without marks, a list with the first, and with both a heading and the first point in bold."""
    texts = [point.plain_alt for point in points]
    if not marks:
        return " ".join([opening, *texts])
    bullet, *headings = marks
    if headings:
        texts[0] = f"**{texts[0]}**"
    return "".join([opening, "\n", *headings, *(bullet + text for text in texts)])


def _folder() -> Path:
    return stimuli_folder() / "channels"
