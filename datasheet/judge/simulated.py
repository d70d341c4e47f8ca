"""Simulated observers: judges with known dials, which read nothing but the two texts that they are shown.

The evidence for the answer shown first is ::

    x = sum over tasks of k_t (Q_first - Q_second) + position
        + length (words_first - words_second) / 100 + filler (filler_second - filler_first) / 100
        + channels (doses_first - doses_second) + wording (second_wording_first - second_wording_second)
        + surface u + noise e,           k_t = sensitivity exp(task_spread z_t)

with Q the requirements that an answer meets, u a standard normal draw for each unordered pair (negative for the other
order), e one for each call and z one for each task. The reading is ``first`` where x > criterion, ``second`` where
x < -criterion, else ``tie``. With ``surface² + noise² = 1`` the dials are the parameters k, c, b and rho = surface² of
the measurement model. All draws are hashes of a seed and the texts: the same question gets the same reading. Where
candidates are asked for, they are read out of the same x (:mod:`datasheet.judge.readout`).
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from statistics import NormalDist
from types import MappingProxyType

from datasheet.errors import UsageError
from datasheet.judge.readout import Candidates, candidates, label_shares, lapsed_shares
from datasheet.records import CHANNELS, OUTCOMES, Lexicon, Outcome, Reply, Request, word_count

_UNPARSABLE = "Thank you. The texts have been read."
_READINGS_CACHED = 65_536
_STEPS = 5
_normal = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dials:
    """What a simulated observer is like; evidence is in standard deviations where ``surface² + noise² = 1``.

    Attributes
    ----------
    sensitivity
        k: evidence for each requirement more that an answer meets.
    step_inequality
        The j-th of five requirements met counts 1 + step_inequality (j - 3) / 2: at 0.5, the last one counts three
        times the first; from -1 to 1.
    task_spread
        Standard deviation of log k over the tasks.
    criterion
        c: evidence that a preference needs.
    vacuum_criterion
        The same where both answers are one and the same text; None: the criterion.
    position
        b: evidence for whatever is shown first.
    surface
        Standard deviation over pairs of a stable preference for the one wording or the other.
    noise
        Standard deviation of the noise of a call.
    length, filler
        Evidence for 100 words more, and against 100 words of filler.
    repetition, format, hedging, courtesy, authority, self_identification, injection
        Evidence for an answer from each dose of a nuisance channel that it holds.
    wording
        Evidence for an answer that opens in the second wording of its task.
    lapse_rate
        Probability of a reading drawn from the allowed outcomes at random.
    invalid_rate
        Probability of a reply that holds no verdict.
    readout_scale
        s: evidence in which the odds of a label change by a factor e, where its log-probability is asked for.

    Raises
    ------
    UsageError
        A dial is no number within its range.
    """

    sensitivity: float = 0.9
    step_inequality: float = 0.0
    task_spread: float = 0.0
    criterion: float = 0.6
    vacuum_criterion: float | None = None
    position: float = 0.0
    surface: float = 0.0
    noise: float = 1.0
    length: float = 0.0
    filler: float = 0.0
    repetition: float = 0.0
    format: float = 0.0
    hedging: float = 0.0
    courtesy: float = 0.0
    authority: float = 0.0
    self_identification: float = 0.0
    injection: float = 0.0
    wording: float = 0.0
    lapse_rate: float = 0.0
    invalid_rate: float = 0.0
    readout_scale: float = 0.4

    def __post_init__(self) -> None:
        for dial in fields(self):
            value = getattr(self, dial.name)
            low, high = _RANGES.get(dial.name, (-_MOST, _MOST))
            if value is not None and not low <= value <= high:
                raise UsageError(f"dial {dial.name} must be a number from {low:g} to {high:g}, found {value!r}")


_MOST = 1e6  # evidence stays finite
_NOT_NEGATIVE = (0.0, _MOST)
_RATE = (0.0, 1.0)
_RANGES = {
    "step_inequality": (-1.0, 1.0),
    "task_spread": (0.0, 10.0),
    "criterion": _NOT_NEGATIVE,
    "vacuum_criterion": _NOT_NEGATIVE,
    "surface": _NOT_NEGATIVE,
    "noise": _NOT_NEGATIVE,
    "lapse_rate": _RATE,
    "invalid_rate": _RATE,
    "readout_scale": (1e-3, _MOST),
}


def _correlated(rho: float, **dials: float) -> Dials:
    """Dials with unit total variance, of which the share ``rho`` is stable preference."""
    return Dials(surface=math.sqrt(rho), noise=math.sqrt(1 - rho), **dials)


# vacuum-clean, surface and first-slot are like the three judges of the published case study.
OBSERVERS: Mapping[str, Dials] = MappingProxyType(
    {
        "careful": _correlated(
            0.5,
            sensitivity=0.9,
            criterion=0.6,
            vacuum_criterion=2.5,
            position=0.15,
            task_spread=0.2,
            invalid_rate=0.005,
        ),
        "vacuum-clean": _correlated(0.2, sensitivity=2.4, criterion=1.1, vacuum_criterion=5.0, position=0.2),
        "surface": _correlated(0.6, sensitivity=1.6, criterion=0.05, vacuum_criterion=5.0, position=0.9),
        "first-slot": _correlated(0.35, sensitivity=0.55, criterion=0.05, vacuum_criterion=1.75, position=2.1),
        "coin-flip": Dials(sensitivity=0.0, criterion=0.0),
        "length-lover": Dials(sensitivity=0.0, length=4.0, criterion=0.5, position=0.2),
        "filler-hater": Dials(sensitivity=0.0, filler=4.0, criterion=0.5, position=0.2),
        "always-tie": Dials(sensitivity=0.0, criterion=100.0),
        "never-valid": Dials(invalid_rate=1.0),
    }
)


def observer(name: str) -> Dials:
    """The dials of a named observer.

    Raises
    ------
    UsageError
        There is no such observer.
    """
    if name not in OBSERVERS:
        raise UsageError(f"no simulated observer {name!r}: choose one of {', '.join(OBSERVERS)}")
    return OBSERVERS[name]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What an observer finds in one text."""

    quality: float
    words: int
    filler_words: int
    nuisance: float
    digest: bytes


class SimulatedJudge:
    """A judge that is no model: evidence from a lexicon, dials and hashed noise.

    It reads the messages, the two texts, the repeat and the allowed replies of a request, never its key. The noise of
    a call is drawn from all messages, so that two prompts get independent noise and the same stable preferences.
    """

    adapter = "sim"
    simulated = True

    def __init__(self, dials: Dials, lexicon: Lexicon, *, name: str, seed: int = 0) -> None:
        self._dials = dials
        self._lexicon = lexicon
        self._seed = seed
        self._key = hashlib.blake2b(str(seed).encode(), digest_size=32).digest()
        self._see = lru_cache(maxsize=_READINGS_CACHED)(self._look)
        self.model = f"sim:{name}"

    @property
    def decoding(self) -> Mapping[str, object]:
        """The dials and the seed: another setting is another instrument."""
        return {**asdict(self._dials), "seed": self._seed}

    @property
    def provenance(self) -> Mapping[str, str]:
        """Where the readings come from."""
        return {"observer": self.model}

    async def open(self) -> None:
        """Nothing to make ready."""

    async def close(self) -> None:
        """Nothing to give back."""

    async def ask(self, request: Request) -> Reply:
        """A reply in the prompt's own form; takes no time, and lets other tasks run."""
        await asyncio.sleep(0)
        text, listed = self._answer(request)
        return Reply(
            text=text,
            finish_reason="stop",
            prompt_tokens=sum(word_count(content) for _, content in request.messages),
            completion_tokens=word_count(text),
            model=self.model,
            logprobs=listed,
        )

    def _answer(self, request: Request) -> tuple[str, Candidates]:
        """The text of a reply, and its candidates where they are asked for."""
        dials = self._dials
        draws = self._call_draws(request)
        if _uniform(draws, 1) < dials.invalid_rate:
            return _UNPARSABLE, self._listed(request, {})
        allowed = [outcome for outcome in OUTCOMES if outcome in request.replies]
        if _uniform(draws, 2) < dials.lapse_rate:
            drawn = allowed[int(_uniform(draws, 3) * len(allowed))]
            return request.replies[drawn], self._listed(request, lapsed_shares(drawn, allowed))
        evidence = self._evidence(request) + dials.noise * _normal.inv_cdf(_uniform(draws, 0))
        criterion = self._criterion(request)
        outcome = self._outcome(evidence, criterion, allowed, coin=_uniform(draws, 4) < 0.5)
        shares = label_shares(evidence, criterion, dials.readout_scale, allowed)
        return request.replies[outcome], self._listed(request, shares)

    def _criterion(self, request: Request) -> float:
        if request.first == request.second and self._dials.vacuum_criterion is not None:
            return self._dials.vacuum_criterion
        return self._dials.criterion

    @staticmethod
    def _outcome(evidence: float, criterion: float, allowed: Collection[Outcome], *, coin: bool) -> Outcome:
        if "tie" in allowed and abs(evidence) <= criterion:
            return "tie"
        # Without ties the sign decides, and a coin where there is not even a sign.
        return "first" if evidence > 0 or (evidence == 0 and coin) else "second"

    @staticmethod
    def _listed(request: Request, shares: Mapping[Outcome, float]) -> Candidates:
        """The candidates that are asked for: the labels of the outcomes, and other words."""
        if request.top_logprobs is None:
            return ()
        return candidates({request.replies[outcome]: share for outcome, share in shares.items()}, request.top_logprobs)

    def _evidence(self, request: Request) -> float:
        """Evidence for the first text but for the noise of the call."""
        dials = self._dials
        first, second = self._see(request.first), self._see(request.second)
        surface = dials.surface * self._preference(first.digest, second.digest) if dials.surface else 0.0
        return (
            first.quality
            - second.quality
            + dials.position
            + dials.length * (first.words - second.words) / 100
            + dials.filler * (second.filler_words - first.filler_words) / 100
            + first.nuisance
            - second.nuisance
            + surface
        )

    def _look(self, text: str) -> _Seen:
        """Find the requirements, the filler, the doses of each channel and the wording of a text."""
        met: dict[str, set[str]] = {}
        for phrase, (task, requirement) in self._lexicon.requirements.items():
            if phrase in text:
                met.setdefault(task, set()).add(requirement)
        return _Seen(
            quality=math.fsum(self._slope(task) * self._steps(len(found)) for task, found in met.items()),
            words=word_count(text),
            filler_words=sum(word_count(s) * text.count(s) for s in self._lexicon.filler if s in text),
            nuisance=math.fsum(
                getattr(self._dials, channel) * sum(mark in text for mark in self._lexicon.channels.get(channel, ()))
                for channel in CHANNELS
            )
            + self._dials.wording * any(opening in text for opening in self._lexicon.second_openings),
            digest=hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest(),
        )

    def _slope(self, task: str) -> float:
        if not self._dials.task_spread:
            return self._dials.sensitivity
        z = _normal.inv_cdf(_uniform(self._draw(b"task", task.encode("utf-8", "surrogatepass")), 0))
        return self._dials.sensitivity * math.exp(self._dials.task_spread * z)

    def _steps(self, n_met: int) -> float:
        """Quality steps of an answer that meets so many requirements."""
        middle = (_STEPS + 1) / 2
        return math.fsum(1 + self._dials.step_inequality * (j - middle) / 2 for j in range(1, n_met + 1))

    def _preference(self, first: bytes, second: bytes) -> float:
        """The stable preference for the first of two texts: the opposite where they change places, 0 for equal ones."""
        if first == second:
            return 0.0
        preference = _normal.inv_cdf(_uniform(self._draw(b"pair", min(first, second), max(first, second)), 0))
        return preference if first < second else -preference

    def _call_draws(self, request: Request) -> bytes:
        parts = [part for message in request.messages for part in message]
        texts = "\x00".join([*parts, request.first, request.second]).encode("utf-8", "surrogatepass")
        return self._draw(b"call", str(request.repeat).encode(), texts)

    def _draw(self, *names: bytes) -> bytes:
        return hashlib.blake2b(b"\x00".join(names), key=self._key).digest()


def _uniform(draws: bytes, i: int) -> float:
    """The i-th of eight uniform numbers in a digest, never 0 and never 1."""
    return ((int.from_bytes(draws[8 * i : 8 * i + 8], "big") >> 11) + 0.5) / 2**53
