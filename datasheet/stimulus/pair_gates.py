"""Gates for stimuli: what the pairs of each arm must be, checked on the texts alone before they are judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from datasheet.identity import stimulus_id
from datasheet.records import Stimulus, word_count
from datasheet.stimulus.bank import Fault
from datasheet.stimulus.ladder import EVEN_RATIOS, LONGER_RATIOS
from datasheet.stimulus.texts import text_faults

_MOST_WORDS_A_DOSE = 60


def check_stimuli(stimuli: Iterable[Stimulus]) -> list[Fault]:
    """Every fault of the stimuli of a run; an answer in the phrasing arms is compared with the same level's plain one.

    The field of a fault is the probe and the arm of the stimulus.
    """
    distinct = list(dict.fromkeys(stimuli))
    plain_answers = _plain_answers(distinct)
    undosed = {(s.task, s.arm): s for s in distinct if s.probe == "channel" and s.dose == 0}
    marks = lru_cache(maxsize=None)(lambda text, task: tuple(text_faults(text, identifiers=(task,))))
    seen: dict[str, Stimulus] = {}
    faults = []
    for stimulus in distinct:
        other = seen.setdefault(stimulus.id, stimulus)
        messages = list(_arm_faults(stimulus, plain_answers[stimulus.task]))
        if stimulus.probe == "channel":
            messages += _channel_faults(stimulus, undosed.get((stimulus.task, stimulus.arm)))
        if other is not stimulus:
            messages.append(f"is the same pair of texts as one of {other.task}, {other.probe}/{other.arm}")
        for name, text in (("question", stimulus.question), ("a", stimulus.answer_a), ("b", stimulus.answer_b)):
            messages += [f"{name} {message}" for message in marks(text, stimulus.task)]
        where = f"{stimulus.probe}/{stimulus.arm}"
        faults += [Fault(task=stimulus.task, field=where, message=_placed(stimulus, message)) for message in messages]
    return faults


def _placed(stimulus: Stimulus, message: str) -> str:
    dose = "" if stimulus.dose is None else f"dose {stimulus.dose}, "
    levels = "" if stimulus.level_a is None else f"levels {stimulus.level_a} and {stimulus.level_b}: "
    return f"{dose}{levels}{message}"


def _plain_answers(stimuli: Sequence[Stimulus]) -> Mapping[str, dict[int, str]]:
    """For each task, the plain answer of each level that its prefix pairs show."""
    answers: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for stimulus in stimuli:
        if stimulus.arm == "prefix" and stimulus.level_a is not None and stimulus.level_b is not None:
            answers[stimulus.task] |= {stimulus.level_a: stimulus.answer_a, stimulus.level_b: stimulus.answer_b}
    return answers


def _arm_faults(stimulus: Stimulus, plain_answers: Mapping[int, str]) -> Iterator[str]:
    if stimulus.id != stimulus_id(stimulus.question, stimulus.answer_a, stimulus.answer_b):
        yield "the id is not the hash of the texts"
    if stimulus.shown("ab") != stimulus.shown("ba")[::-1]:
        yield "the two orders are not mirror images"
    if not stimulus.question.strip():
        yield "the question is empty"
    if stimulus.probe == "vacuum":
        yield from _vacuum_faults(stimulus)
        return
    if stimulus.identical:
        yield "the answers must differ"
    if not stimulus.answer_a.strip() or not stimulus.answer_b.strip():
        yield "an answer is empty"
    if stimulus.probe == "ladder" and stimulus.delta_q < 1:
        yield "answer a must be of a higher level"
    if stimulus.probe in ("same_quality", "channel") and (stimulus.level_a is None or stimulus.delta_q != 0):
        yield "both answers must be of one level"
    if stimulus.arm in _ARM_GATES:
        yield from _ARM_GATES[stimulus.arm](stimulus, plain_answers)


def _vacuum_faults(stimulus: Stimulus) -> Iterator[str]:
    if not stimulus.identical:
        yield "the answers must be the same text"
    text = stimulus.answer_a
    right = {"empty": text == "", "whitespace": text != "" and not text.strip(), "identical": bool(text.strip())}
    if not right.get(stimulus.arm, True):
        yield f"the answers are not what the kind {stimulus.arm} says"


def _prefix_faults(stimulus: Stimulus, _: Mapping[int, str]) -> Iterator[str]:
    words_a, words_b = stimulus.answer_a.split(), stimulus.answer_b.split()
    if len(words_b) >= len(words_a) or words_a[: len(words_b)] != words_b:
        yield "answer a must begin with answer b, word for word, and go on"


def _filled_faults(stimulus: Stimulus, ratios: tuple[float, float]) -> Iterator[str]:
    words_a, words_b = stimulus.answer_a.split(), stimulus.answer_b.split()
    bare = len(words_b) - stimulus.filler_b
    if stimulus.filler_b < 1 or words_b[:bare] != words_a[:bare]:
        yield f"answer b must be the beginning of answer a and then its {stimulus.filler_b} words of filler"
    low, high = ratios
    if not low <= len(words_b) / len(words_a) <= high:
        yield f"answer b must have {low:g} to {high:g} times the {len(words_a)} words of a, found {len(words_b)}"


def _phrased_faults(stimulus: Stimulus, plain_answers: Mapping[int, str], terse: str) -> Iterator[str]:
    """Terse answers are shorter than the plain answer of their level, wordy ones longer; level 0 is the opening."""
    for side, level, text in (("a", stimulus.level_a, stimulus.answer_a), ("b", stimulus.level_b, stimulus.answer_b)):
        if level is None or level not in plain_answers:
            continue
        words, plain_words = word_count(text), word_count(plain_answers[level])
        if level == 0 and text != plain_answers[0]:
            yield f"answer {side} must be the opening alone"
        if level > 0 and not (words < plain_words if side == terse else words > plain_words):
            expected = "fewer" if side == terse else "more"
            yield f"answer {side} must have {expected} than the {plain_words} words of the plain answer, found {words}"


def _channel_faults(stimulus: Stimulus, undosed: Stimulus | None) -> Iterator[str]:
    """What a dose adds to answer a is all that sets a pair apart from the pair of dose 0 of its task and channel."""
    if undosed is None or stimulus.dose is None:
        yield "a channel pair needs a dose, and a pair of dose 0 of its task and channel beside it"
        return
    if stimulus.answer_b != undosed.answer_b:
        yield "answer b must be that of the pair of dose 0"
    rest = iter(stimulus.answer_a.replace("**", "").split())
    base = undosed.answer_a.replace("**", "").split()
    if not all(word in rest for word in base):
        yield "answer a must hold every word of answer a of dose 0, in their order"
    added, most = word_count(stimulus.answer_a) - len(base), _MOST_WORDS_A_DOSE * stimulus.dose
    if stimulus.dose > 0 and not 1 <= added <= most:
        yield f"the dose must add 1 to {most} words, found {added}"


_ARM_GATES: Mapping[str, Callable[[Stimulus, Mapping[int, str]], Iterator[str]]] = {
    "prefix": _prefix_faults,
    "filled_even": lambda stimulus, _: _filled_faults(stimulus, EVEN_RATIOS),
    "filled_longer": lambda stimulus, _: _filled_faults(stimulus, LONGER_RATIOS),
    "terse_better": lambda stimulus, plain: _phrased_faults(stimulus, plain, "a"),
    "wordy_better": lambda stimulus, plain: _phrased_faults(stimulus, plain, "b"),
}
