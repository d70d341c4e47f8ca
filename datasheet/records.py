"""The records that cross rooms: frozen, keyword-only, and checked when they are made.

Orientation, everywhere: in a pair, ``a`` is the better (or, at equal quality, the canonical) content and ``b`` the
other. Order ``"ab"`` shows ``a`` first. Outcomes are positional: ``"first"`` is the answer that was shown first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Order = Literal["ab", "ba"]
Outcome = Literal["first", "second", "tie"]
Status = Literal["measured", "bounded", "undetermined", "not_measured", "not_applicable"]
Probe = Literal["vacuum", "ladder", "same_quality", "channel", "natural"]

ORDERS: tuple[Order, ...] = ("ab", "ba")
OUTCOMES: tuple[Outcome, ...] = ("first", "tie", "second")
PROBES: tuple[Probe, ...] = ("vacuum", "ladder", "same_quality", "channel", "natural")
CHANNELS = ("repetition", "format", "hedging", "courtesy", "authority", "self_identification", "injection")
"""Nuisances that a judge should not heed: the arms of the ``channel`` probe."""


def word_count(text: str) -> int:
    """Length of a text in words (runs of non-space characters), the length unit of our own stimuli."""
    return len(text.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Stimulus:
    """A question with two answers, and what is known of their qualities.

    Attributes
    ----------
    id
        Content hash of everything a judge could see (:func:`datasheet.identity.content_id`).
    probe, arm
        What the pair is for (protocol: ``vacuum``, ``ladder``, ``same_quality``, ``channel``) and how it was made.
    level_a, level_b
        Requirements met by each answer; ``level_a >= level_b``. None in a vacuum pair.
    filler_b
        Words of filler in answer b.
    dose
        Doses of the nuisance that answer a holds; None but in a ``channel`` pair, whose arm names the nuisance.

    Raises
    ------
    ValueError
        One level is given without the other, or answer b is the better one.
    """

    id: str
    probe: str
    arm: str
    task: str
    question: str
    answer_a: str
    answer_b: str
    level_a: int | None = None
    level_b: int | None = None
    filler_b: int = 0
    dose: int | None = None
    reference: str = ""

    def __post_init__(self) -> None:
        if (self.level_a is None) != (self.level_b is None):
            raise ValueError(f"stimulus {self.id}: both levels or neither")
        if self.delta_q < 0:
            raise ValueError(f"stimulus {self.id}: answer a must be the better one")

    @property
    def delta_q(self) -> int:
        """Quality steps between the answers (0 where no levels are defined)."""
        return 0 if self.level_a is None or self.level_b is None else self.level_a - self.level_b

    @property
    def identical(self) -> bool:
        """Both answers are the same text, so that the two orders are one and the same presentation."""
        return self.answer_a == self.answer_b

    def shown(self, order: Order) -> tuple[str, str]:
        """The two answers as (first, second) in an order: the one place where content becomes a slot."""
        return (self.answer_a, self.answer_b) if order == "ab" else (self.answer_b, self.answer_a)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One presentation of a stimulus: which order, which repeat (0 is the first)."""

    stimulus: Stimulus
    order: Order
    repeat: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a judge is asked: nothing in it tells levels, arms or identities.

    Attributes
    ----------
    key
        The trial's key, for the log (:func:`datasheet.identity.trial_key`); never sent.
    messages
        (role, text) in order.
    first, second
        The two answers as shown.
    replies
        For each outcome that the prompt allows, a reply text that says so (what a simulated observer writes).
    response_schema
        JSON Schema of the reply where the prompt asks for JSON, else None.
    top_logprobs
        Number of candidates wanted at the first token of the reply, with their log-probabilities; None wants none.
    """

    key: str
    messages: tuple[tuple[str, str], ...]
    first: str
    second: str
    replies: Mapping[Outcome, str]
    response_schema: Mapping[str, object] | None = None
    max_tokens: int = 256
    top_logprobs: int | None = None
    repeat: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """What a simulated observer recognises in a text that it is shown: plain phrases and what they say.

    Attributes
    ----------
    requirements
        For each phrasing of a requirement, the task and the requirement that it meets.
    filler
        Sentences that meet no requirement.
    channels
        For each nuisance channel, the texts of which each one that is found is one dose.
    second_openings
        Of answers in the second wording of a task.
    """

    requirements: Mapping[str, tuple[str, str]]
    filler: frozenset[str] = frozenset()
    channels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    second_openings: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back from one call that succeeded.

    Attributes
    ----------
    text
        The raw text, untrusted. Reasoning that the server keeps apart is in ``reasoning``.
    finish_reason
        As the server gave it (``"stop"``, ``"length"``, ``"content_filter"``, …), or "".
    refusal
        The server's own field for a refusal, or "".
    logprobs
        Candidates (token, natural log probability) at the first token of the reply, where the server gave them.
    prompt_tokens, cached_tokens, completion_tokens
        As the server counted them; the cached ones are among those of the prompt.
    latency_s
        Seconds from sending to the last byte.
    """

    text: str
    finish_reason: str = ""
    refusal: str = ""
    reasoning: str = ""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    latency_s: float = 0.0
    model: str = ""
    fingerprint: str = ""
    logprobs: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelLogProbabilities:
    """Natural log-probabilities of a prompt's labels at the first token of one reply.

    Attributes
    ----------
    first, tie, second
        -inf where the label is not among the listed candidates.
    floor
        The smallest listed log-probability: what is not listed lies below.
    """

    first: float
    tie: float
    second: float
    floor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The reading of a reply: an outcome, or the reason why there is none.

    ``abstained`` marks an abstention that the prompt offers: it reads as a tie and is counted apart.
    ``strength`` is the step of a graded scale (1 slightly, 2 much), ``score`` that of a rating of a single answer.

    Raises
    ------
    ValueError
        There is neither a value nor a reason, or both.
    """

    outcome: Outcome | None = None
    invalid: str | None = None
    abstained: bool = False
    strength: int | None = None
    score: float | None = None
    label: str | None = None
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given = [x is not None for x in (self.outcome, self.score, self.label)]
        if (self.invalid is None) != any(given):
            raise ValueError("a verdict has either a value or a reason why it is invalid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A quantity with its interval, its counts and how it was had; it can't carry a NaN or a missing reason.

    ``measured`` has an estimate and, unless that side is open (None, with a reason), both limits. ``bounded`` has one
    limit and no estimate. The other statuses have a reason and no numbers but ``n``.

    Raises
    ------
    ValueError
        The numbers are not finite, not in order, or not those of the status.
    """

    status: Status = "measured"
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    n_clusters: int | None = None
    confidence_level: float = 0.95
    method: str = ""
    reason: str = ""
    flags: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        numbers = (self.estimate, self.low, self.high)
        if any(x is not None and not math.isfinite(x) for x in numbers):
            raise ValueError(f"an estimate holds finite numbers or None, not {numbers}")
        low, high = self.low, self.high
        if low is not None and high is not None and low > high:
            raise ValueError(f"limits out of order: {low} > {high}")
        if self.status == "measured":
            if self.estimate is None:
                raise ValueError("a measured quantity has an estimate")
            if (low is None or high is None) and not self.reason:
                raise ValueError("an open limit has a reason")
            if (low is not None and low > self.estimate) or (high is not None and high < self.estimate):
                raise ValueError(f"the estimate {self.estimate} lies outside its limits {low}, {high}")
        elif self.status == "bounded":
            if self.estimate is not None or (low is None) == (high is None):
                raise ValueError("a bounded quantity has one limit and no estimate")
        elif self.estimate is not None or not self.reason:
            raise ValueError(f"a quantity that is {self.status} has a reason and no estimate")

    @classmethod
    def absent(cls, status: Status, reason: str, *, n: int = 0) -> Estimate:
        """A quantity without a number, and why."""
        return cls(status=status, reason=reason, n=n)
