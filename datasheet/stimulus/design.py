"""Designs: which pairs of a bank are judged, in which orders, how often and in what sequence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from datasheet.errors import StimulusError, UsageError
from datasheet.records import ORDERS, Order, Stimulus, Trial
from datasheet.seeds import child_rng
from datasheet.stimulus import ladder
from datasheet.stimulus.bank import TaskBank
from datasheet.stimulus.chain import LEVELS, Chain, chains
from datasheet.stimulus.channels import DOSES, Phrases, channel_languages, channel_phrases, dosed, phrase_faults
from datasheet.stimulus.pair_gates import check_stimuli
from datasheet.stimulus.same_quality import different_subset, same_subset
from datasheet.stimulus.vacuum import VACUUM_KINDS, vacuum

_T = TypeVar("_T")
_TOP = LEVELS[-1]
_FAULTS_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What is asked about each task.

    Attributes
    ----------
    n_tasks
        Tasks that it needs.
    most_tasks
        Tasks that it uses at most, the first of the bank; None: as many as it needs.
    vacuum, same_subset, different_subset
        Pairs a task; kinds and levels are taken in turn over the tasks.
    prefix, phrasing, filled
        Quality differences of the ladder pairs a task; where several are given for one pair, they are taken in turn.
        Base levels are taken in turn. ``phrasing`` and ``filled`` make two pairs each, one for either arm.
    consistency_readings
        Readings in each order of one same_subset pair a task.
    channels
        Whether each task has a pair of each dose of each channel.
    """

    name: str
    title: str
    n_tasks: int
    vacuum: int
    same_subset: int
    prefix: tuple[tuple[int, ...], ...]
    phrasing: tuple[tuple[int, ...], ...] = ()
    filled: tuple[tuple[int, ...], ...] = ()
    different_subset: int = 0
    consistency_readings: int = 1
    channels: bool = False
    most_tasks: int | None = None


_EVERY_PREFIX_PAIR = tuple((delta_q,) for delta_q in LEVELS[1:] for _ in range(len(LEVELS) - delta_q))

_STANDARD = Design(
    name="standard",
    title="All arms, length and filler told apart from quality: 1,460 calls",
    n_tasks=20,
    vacuum=3,
    same_subset=6,
    prefix=_EVERY_PREFIX_PAIR,
    phrasing=((1,), (1,), (2,), (2,), (3,), (4,)),
    filled=((1,), (1,), (2,), (3,)),
    different_subset=2,
    consistency_readings=3,
)

DESIGNS = {
    design.name: design
    for design in (
        Design(
            name="quick",
            title="A first look: 110 calls",
            n_tasks=10,
            vacuum=1,
            same_subset=2,
            prefix=((1,), (5,), (2, 3, 4)),
        ),
        Design(
            name="paper",
            title="The published design: 450 calls",
            n_tasks=10,
            vacuum=3,
            same_subset=6,
            prefix=_EVERY_PREFIX_PAIR,
        ),
        _STANDARD,
        replace(
            _STANDARD,
            name="full",
            title="All arms and all nuisance channels, up to 52 tasks: 115 calls a task, 4,600 with 40",
            channels=True,
            most_tasks=52,
        ),
    )
}


def plan(bank: TaskBank, design: str, *, seed: int = 0, repeats: int | None = None) -> list[Trial]:
    """The trials of a design, in a random sequence so that drift in time falls on all arms alike.

    The same bank, design and seed give the same trials in the same sequence. ``repeats`` sets the readings of every
    presentation; without it, the design's own number holds.

    Raises
    ------
    UsageError
        No such design, or fewer than one repeat.
    StimulusError
        The bank has too few tasks or is in a language without channel phrases, or a stimulus breaks a gate.
    """
    chosen = _chosen(bank, design)
    if repeats is not None and repeats < 1:
        raise UsageError(f"repeats must be 1 or more, found {repeats}")
    phrases = _phrases(bank, chosen) if chosen.channels else {}
    used = chains(bank, seed=seed)[: chosen.most_tasks or chosen.n_tasks]
    presentations = [*_presentations(used, chosen, seed), *_channel_pairs(used, phrases)]
    _pass_gates([shown.stimulus for shown in presentations], bank, phrases)
    trials = [
        Trial(stimulus=shown.stimulus, order=order, repeat=repeat)
        for shown in presentations
        for order in shown.orders
        for repeat in range(repeats or shown.readings)
    ]
    return [trials[i] for i in child_rng(seed, "sequence").permutation(len(trials))]


@dataclass(frozen=True, slots=True)
class _Presentation:
    stimulus: Stimulus
    orders: tuple[Order, ...]
    readings: int = 1


def _chosen(bank: TaskBank, design: str) -> Design:
    if design not in DESIGNS:
        raise UsageError(f"no design {design!r}: choose one of {', '.join(DESIGNS)}")
    chosen = DESIGNS[design]
    if len(bank.tasks) < chosen.n_tasks:
        fitting = [other.name for other in DESIGNS.values() if other.n_tasks <= len(bank.tasks)]
        raise StimulusError(
            f"the design {design} needs {chosen.n_tasks} tasks, and the bank {bank.name} has {len(bank.tasks)}: "
            + (f"add tasks, or choose the design {' or '.join(fitting)}" if fitting else "add tasks")
        )
    return chosen


def _phrases(bank: TaskBank, design: Design) -> Phrases:
    phrases = channel_phrases(bank.language)
    if not phrases:
        raise StimulusError(
            f"the design {design.name} needs channel phrases in the language of the bank {bank.name}, "
            f"{bank.language!r}, and there are phrases in {', '.join(channel_languages())}: choose the design standard"
        )
    return phrases


def _pass_gates(stimuli: Sequence[Stimulus], bank: TaskBank, phrases: Phrases) -> None:
    faults = [str(fault) for fault in (*phrase_faults(bank, phrases), *check_stimuli(stimuli))]
    if faults:
        shown = "\n  ".join(faults[:_FAULTS_SHOWN])
        raise StimulusError(
            f"the bank {bank.name} makes stimuli that break {len(faults)} gate(s); mend the texts of:\n  {shown}",
            tuple(faults),
        )


def _presentations(used: Sequence[Chain], design: Design, seed: int) -> Iterator[_Presentation]:
    """Every stimulus of a design with its orders and its number of readings."""
    for index, chain in enumerate(used):
        identical_level = LEVELS[index % len(LEVELS)]
        for kind in _in_turn(VACUUM_KINDS, index, design.vacuum):
            yield _Presentation(vacuum(chain, kind, level=identical_level), ORDERS[:1])
        repeated = index % design.same_subset
        for j, level in enumerate(_in_turn(LEVELS, index, design.same_subset)):
            readings = design.consistency_readings if j == repeated else 1
            yield _Presentation(same_subset(chain, level), ORDERS, readings)
        for level in _in_turn(LEVELS[1:_TOP], index, design.different_subset):
            yield _Presentation(different_subset(chain, level), ORDERS)
    for chain, worse, better in _level_pairs(used, design.prefix):
        yield _Presentation(ladder.prefix(chain, worse=worse, better=better), ORDERS)
    yield from _one_order(_single_order_pairs(used, design, seed), seed)


def _channel_pairs(used: Sequence[Chain], phrases: Phrases) -> Iterator[_Presentation]:
    """Every dose of every channel, in both orders: a preference for a nuisance is told from one for a slot."""
    for turn, chain in enumerate(used):
        for name, added in phrases.items():
            for dose in DOSES:
                yield _Presentation(dosed(chain, name, dose, phrases=added, turn=turn), ORDERS)


def _single_order_pairs(used: Sequence[Chain], design: Design, seed: int) -> Iterator[Stimulus]:
    """The arms that tell length from quality; position is measured elsewhere, so one order is enough."""
    for chain, worse, better in _level_pairs(used, design.phrasing):
        yield ladder.terse_better(chain, worse=worse, better=better)
        yield ladder.wordy_better(chain, worse=worse, better=better)
    for chain, worse, better in _level_pairs(used, design.filled):
        yield ladder.filled_even(chain, worse=worse, better=better, seed=seed)
        yield ladder.filled_longer(chain, worse=worse, better=better, seed=seed)


def _in_turn(options: Sequence[_T], index: int, count: int) -> list[_T]:
    """The options that fall to a task where each task takes ``count`` of them, round after round."""
    return [options[(index * count + j) % len(options)] for j in range(count)]


def _level_pairs(used: Sequence[Chain], steps: tuple[tuple[int, ...], ...]) -> Iterator[tuple[Chain, int, int]]:
    """(chain, worse level, better level) with the base levels of each quality difference in turn over the tasks."""
    made: Counter[int] = Counter()
    for index, chain in enumerate(used):
        for alternatives in steps:
            delta_q = alternatives[index % len(alternatives)]
            worse = made[delta_q] % (len(LEVELS) - delta_q)
            made[delta_q] += 1
            yield chain, worse, worse + delta_q


def _one_order(stimuli: Iterator[Stimulus], seed: int) -> Iterator[_Presentation]:
    """One seeded order for each stimulus, as many of either within each arm and quality difference."""
    strata: defaultdict[tuple[str, int], list[Stimulus]] = defaultdict(list)
    for stimulus in stimuli:
        strata[stimulus.arm, stimulus.delta_q].append(stimulus)
    for (arm, delta_q), members in strata.items():
        for turn, i in enumerate(child_rng(seed, "order", arm, delta_q).permutation(len(members))):
            yield _Presentation(members[i], (ORDERS[turn % len(ORDERS)],))
