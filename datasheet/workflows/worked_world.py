"""A world whose truth is known: 400 prompts, two answers each, two people who score, and judges with one dial turned.

The people see an answer's quality through a little noise. Each judge sees it through more, and adds what its dial
says: leniency, a liking for the first slot, for length, or for the answers of its own maker. What a calibration of
these judges must find is therefore known beforehand, which makes the world a worked example and a test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

PROMPTS = 400
LOW_SCORE, HIGH_SCORE, LOWEST_PASS = 1, 5, 4
MAKERS = ("ours", "base")
HUMANS = ("annotator_1", "annotator_2")

_WORLD_SEED = 11
_MEAN_QUALITY = (0.69, 0.66)
_PROMPT_SD, _ANSWER_SD = 0.15, 0.12
_MEDIAN_TOKENS, _LOG_TOKENS_SD = (340.0, 170.0), 0.3
_USUAL_TOKENS = 250.0
_NOISE_SD, _PREFERENCE_NOISE_SD = 0.07, 0.04
_TIE_BAND = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Dials:
    """What a judge adds to the quality that it sees, on the quality's scale.

    Attributes
    ----------
    leniency
        To the score of each single answer.
    position
        To the answer in the first slot; in comparisons only.
    verbosity
        Per 100 tokens above 250; below them it takes off.
    self_preference
        To the answers of the maker "ours".
    """

    seed: int
    leniency: float = 0.0
    position: float = 0.0
    verbosity: float = 0.0
    self_preference: float = 0.0


JUDGES = {
    "fair": Dials(seed=1),
    "lenient": Dials(seed=2, leniency=0.25),
    "position": Dials(seed=3, position=0.10),
    "verbose": Dials(seed=4, verbosity=0.06),
    "self-preferring": Dials(seed=5, self_preference=0.08),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The prompts, and what the people say of them.

    Attributes
    ----------
    quality, tokens
        Of each prompt's two answers, in the order of ``MAKERS``, shape (prompts, 2).
    scores
        The people's, shape (prompts, annotators, 2).
    preferences
        Theirs too: 1 for ours, -1 for base, 0 for a tie, shape (prompts,).
    """

    quality: Numbers
    tokens: Numbers
    scores: Numbers
    preferences: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgements:
    """What one judge says.

    Attributes
    ----------
    scores
        Shape (prompts, 2).
    ours_first, base_first
        Its preference by the order in which it was shown the answers: 1 for ours, -1 for base, 0 for a tie.
    """

    scores: Numbers
    ours_first: Numbers
    base_first: Numbers


def _score(quality: Numbers) -> Numbers:
    return np.clip(np.rint(1 + 4 * quality), LOW_SCORE, HIGH_SCORE)


def _preference(evidence: Numbers) -> Numbers:
    return np.where(np.abs(evidence) > _TIE_BAND, np.sign(evidence), 0.0)


def world() -> World:
    """The one world: its seed is fixed."""
    rng = np.random.default_rng(_WORLD_SEED)
    quality, tokens = np.empty((PROMPTS, 2)), np.empty((PROMPTS, 2))
    seen, evidence = np.empty((PROMPTS, len(HUMANS), 2)), np.empty(PROMPTS)
    for prompt in range(PROMPTS):
        ease = rng.normal(0, _PROMPT_SD)
        for answer in (1, 0):
            quality[prompt, answer] = np.clip(_MEAN_QUALITY[answer] + ease + rng.normal(0, _ANSWER_SD), 0, 1)
        for answer in (0, 1):
            tokens[prompt, answer] = int(rng.lognormal(np.log(_MEDIAN_TOKENS[answer]), _LOG_TOKENS_SD))
        seen[prompt] = quality[prompt] + rng.normal(0, _NOISE_SD, (len(HUMANS), 2))
        evidence[prompt] = quality[prompt, 0] - quality[prompt, 1] + rng.normal(0, _PREFERENCE_NOISE_SD)
    return World(quality=quality, tokens=tokens, scores=_score(seen), preferences=_preference(evidence))


def judged(world: World, dials: Dials) -> Judgements:
    """Every answer scored, then every pair compared in both orders."""
    rng = np.random.default_rng(dials.seed)
    worth = (
        world.quality
        + dials.verbosity * (world.tokens - _USUAL_TOKENS) / 100
        + dials.self_preference * np.array([1.0, 0.0])
    )
    scores = _score(worth + dials.leniency + rng.normal(0, _NOISE_SD, worth.shape))
    noise = rng.normal(0, _NOISE_SD, worth.shape)  # of what stands first, over what stands second
    ours_over_base = worth[:, 0] - worth[:, 1]
    return Judgements(
        scores=scores,
        ours_first=_preference(ours_over_base + dials.position + noise[:, 0]),
        base_first=-_preference(dials.position - ours_over_base + noise[:, 1]),
    )


def rows(world: World, judges: dict[str, Dials]) -> Iterator[dict[str, Any]]:
    """The world as rows of a verdict log: scores of single answers, then verdicts on pairs, judge by judge."""
    for name, dials in judges.items():
        said = judged(world, dials)
        for prompt in range(PROMPTS):
            for answer, maker in enumerate(MAKERS):
                yield {
                    "item": _prompt_name(prompt),
                    "answer": maker,
                    "maker": maker,
                    "length": int(world.tokens[prompt, answer]),
                    "score": int(said.scores[prompt, answer]),
                    "humans": dict(zip(HUMANS, map(int, world.scores[prompt, :, answer]), strict=True)),
                    "judge": name,
                }
        for prompt in range(PROMPTS):
            for order, verdicts, places in (
                ("ab", said.ours_first, ("second", "tie", "first")),
                ("ba", said.base_first, ("first", "tie", "second")),
            ):
                yield {
                    "pair": _prompt_name(prompt),
                    "probe": "natural",
                    "order": order,
                    "verdict": _named(verdicts[prompt], places),
                    "human": _named(world.preferences[prompt], ("b", "tie", "a")),
                    "length_a": int(world.tokens[prompt, 0]),
                    "length_b": int(world.tokens[prompt, 1]),
                    "maker_a": MAKERS[0],
                    "maker_b": MAKERS[1],
                    "judge": name,
                }


def _prompt_name(prompt: int) -> str:
    return f"prompt {prompt + 1}"


def _named(preference: float, names: Sequence[str]) -> str:
    return names[int(preference) + 1]
