"""Flags and profile: what the measured quantities say of a judge, by rules over one-sided limits.

A flag is raised when the evidence is beyond its limit, cleared when the evidence is within, and open where neither can
be said. Several may stand together; one profile name follows by a fixed precedence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Literal

from datasheet.analysis.intervals import ClusteredShare
from datasheet.analysis.pairing_null import PairingNull
from datasheet.p_values import p_phrase

FlagState = Literal["raised", "cleared", "open", "not_applicable", "not_measured"]

MOST_CLUSTERS = {"task": 200, "pair": 2000}
"""Where more than so many would be needed, more of them are not the answer: nobody writes a bank of so many tasks."""

_FARTHEST = 500
"""Times the present number up to which is searched for what would decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Where flags rise: shares, and the least numbers of readings. Printed on every sheet, configurable."""

    dark: float = 0.05
    noisy: float = 0.25
    positional: float = 0.25
    surface: float = 0.10
    sensitive: float = 0.75
    conservative: float = 0.25
    invalid: float = 0.05
    conflicted: float = 0.50
    clean_dark: float = 0.15
    clean_surface: float = 0.10
    clean_positional: float = 0.25
    significance: float = 0.05
    led_by_length: float = 0.50
    consistent: float = 0.95
    least_pairs: int = 20
    least_vacuum: int = 10
    least_committed: int = 40

    def as_dict(self) -> dict[str, float]:
        """Limits by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the rules look at; None is "not measured".

    Attributes
    ----------
    dark, stable, positional, committed, sensitive, missed, invalid
        DC, SCS, PFP, SCS + PFP, P_correct(5), miss-by-tie(1) and the invalid rate.
    against_length
        Accuracy among non-ties where the better answer is the shorter one (arms filled_longer and terse_better), in
        both orders.
    consistency
        Agreement of repeated calls.
    unit
        What the limits count: ``"task"``, or ``"pair"`` where the log names no tasks.
    one_order
        Flags whose share of the ladder is of one order alone.
    """

    dark: ClusteredShare | None
    stable: ClusteredShare | None
    positional: ClusteredShare | None
    committed: ClusteredShare | None
    sensitive: ClusteredShare | None
    missed: ClusteredShare | None
    invalid: ClusteredShare | None
    against_length: ClusteredShare | None
    consistency: ClusteredShare | None
    null: PairingNull | None
    n_pairs: int
    n_vacuum: int
    ties_allowed: bool
    unit: str = "task"
    one_order: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag: its state, the rule with the figures that decided it, and what would decide an open one."""

    name: str
    state: FlagState
    rule: str
    decides: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The judge's profile: name, the paper's class letter, the rule that gave it, and what the judge is fit for.

    ``decides`` is what would decide an undetermined profile, "" elsewhere.
    """

    name: str
    class_letter: str | None
    rule: str
    decides: str
    sentence: str
    use_for: str
    not_for: str
    flags: tuple[Flag, ...]


_FITNESS: dict[str, tuple[str, str, str]] = {
    "undetermined": (
        "The readings do not settle what kind of instrument this judge is.",
        "nothing yet: measure more first",
        "any decision that rests on its preference",
    ),
    "unreliable readings": (
        "Too many replies give no valid reading, so every rate describes only the replies that could be read.",
        "finding out why replies fail (format, length limit, refusals)",
        "any comparison until the replies can be read",
    ),
    "noisy": (
        "Between answers of equal quality its preferences can't be told from a coin flipped on each call.",
        "differences large enough to stand out from the noise, in both orders",
        "answers of similar quality, single calls",
    ),
    "insensitive": (
        "It misses even the largest quality step of the ladder.",
        "nothing that depends on quality; debugging the prompt or the pipeline",
        "ranking, gating or choosing answers",
    ),
    "length-led": (
        "Where the better answer is the shorter one it prefers the worse: length leads it, not quality.",
        "answers of equal length, at most; mending the prompt or choosing another judge",
        "any comparison of answers that differ in length",
    ),
    "presentation-conflicted": (
        "Between answers of equal quality most of its preferences follow the slot, not the content.",
        "pipeline debugging, perhaps; large quality differences in both orders",
        "answers of similar quality; any single-order comparison",
    ),
    "mixed stable-positional": (
        "Between answers of equal quality it prefers on most pairs, partly by slot, partly by stable features.",
        "clear quality differences, both orders, conflicts counted as ties",
        "close comparisons; claims about style-neutral quality",
    ),
    "positional": (
        "Between answers of equal quality a good part of its preferences follows the slot.",
        "comparisons made in both orders, conflicts counted as ties",
        "any single-order comparison",
    ),
    "surface-sensitive": (
        "Between answers of equal quality it prefers the same text in both orders: phrasing moves it.",
        "answers in one style, or where style belongs to what is judged",
        "comparing systems that differ in style when only content should count",
    ),
    "dark": (
        "It prefers where there is nothing to prefer: empty, blank or identical answers.",
        "comparisons with real content on both sides",
        "inputs that may be empty or equal, unless they are filtered out first",
    ),
    "vacuum-clean": (
        "It rarely prefers in a vacuum, and rarely keeps to a slot or a text when equal answers are swapped.",
        "pairwise comparison, in both orders",
        "differences below its detection threshold, which it may leave as ties",
    ),
}

_CAVEAT = ("mixed stable-positional", "positional", "surface-sensitive")


def clusters_to_decide(share: ClusteredShare, limit: float) -> int | None:
    """Clusters in all that would put the one-sided limit on the estimate's side of ``limit``, all else as it is.

    None where the share is at the limit, there is one cluster, or over 500 times as many would be needed.
    """
    if share.n_clusters < 2 or share.share == limit:
        return None

    def decided(n_clusters: int) -> bool:
        wider = replace(share, n=share.n / share.n_clusters * n_clusters, n_clusters=n_clusters)
        return wider.upper() <= limit if share.share < limit else wider.lower() > limit

    few, enough = share.n_clusters, _FARTHEST * share.n_clusters
    if not decided(enough):
        return None
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if decided(middle) else (middle, enough)
    return enough


def _what_decides(share: ClusteredShare, limit: float, unit: str) -> str:
    if share.n_clusters < 2:
        return f"more {unit}s: one tells nothing of the spread between them"
    needed = clusters_to_decide(share, limit)
    if needed is not None and needed <= max(MOST_CLUSTERS[unit], 2 * share.n_clusters):
        return f"about {needed:,} {unit}s in all (now {share.n_clusters:,}), if the share stays"
    many = f"over {_FARTHEST * share.n_clusters:,}" if needed is None else f"about {needed:,}"
    return f"hardly more {unit}s: {many} in all would be needed (now {share.n_clusters:,}), as it lies near the limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """A flag's rule: a share against a limit, and tests that must agree before it rises.

    ``above`` says on which side of the limit the flag rises. ``agrees`` is whether the tests agree, ``tests`` says so
    in words, and ``clears`` whether tests that disagree clear the flag rather than leave it open. ``half_seen`` is
    whether the share is of one order alone: over both orders it may be anything from half of it to half of it more than
    1/2, so that the slot could clear any flag, and raise many.
    """

    name: str
    symbol: str
    share: ClusteredShare | None
    limit: float
    needs: str
    above: bool = True
    agrees: bool = True
    clears: bool = False
    tests: str = ""
    half_seen: bool = False

    def flag(self, unit: str) -> Flag:
        """The flag in its state."""
        side = "lower" if self.above else "upper"
        sign = ">" if self.above else "<"
        if self.share is None:
            rule = f"rises when the {side} limit of {self.symbol} {sign} {self.limit:g}"
            return Flag(name=self.name, state="not_measured", rule=rule, decides=self.needs)
        if self.half_seen:
            return self._of_one_order(self.share)
        low, high = self.share.lower(), self.share.upper()
        limits = f"one-sided 95% limits {low:.3f} and {high:.3f}"
        if self.share.interval() is None:
            limits = "no limits: one task"
        rule = f"{self.symbol} {self.share.share:.3f}, {limits}, against {self.limit:g}"
        rule += f"; {self.tests}" if self.tests else ""
        beyond = low > self.limit if self.above else high < self.limit
        within = high <= self.limit if self.above else low >= self.limit
        if within or (self.clears and not self.agrees):
            return Flag(name=self.name, state="cleared", rule=rule)
        if beyond and self.agrees:
            return Flag(name=self.name, state="raised", rule=rule)
        decides = "more same-quality pairs, or repeats" if beyond else _what_decides(self.share, self.limit, unit)
        return Flag(name=self.name, state="open", rule=rule, decides=decides)

    def _of_one_order(self, share: ClusteredShare) -> Flag:
        """Raised where even the best of readings in the other order would not help; else there is nothing to say."""
        low, high = share.lower() / 2, (1 + share.upper()) / 2
        rule = (
            f"{self.symbol} {share.share:.3f} in one order alone, over both between {low:.3f} and {high:.3f}, against "
            f"{self.limit:g}"
        )
        if low > self.limit if self.above else high < self.limit:
            return Flag(name=self.name, state="raised", rule=rule)
        return Flag(name=self.name, state="not_measured", rule=rule, decides=self.needs)


def _stable_tests(null: PairingNull | None) -> str:
    """The tests that SCS must pass, in words."""
    if null is None:
        return ""
    return f"SCS above random pairing {p_phrase(null.p_pooled)}, among committed pairs {p_phrase(null.p_stable)}"


def _slot_test(null: PairingNull | None) -> str:
    """The test that PFP must pass, in words."""
    if null is None:
        return ""
    return "no same-slot pair" if null.p_slot is None else f"first-first against second-second {p_phrase(null.p_slot)}"


def _all_tests(null: PairingNull | None) -> str:
    """The tests that all must fail of noise, in words."""
    return f"{_stable_tests(null)}, PFP {p_phrase(null.p_positional)}; {_slot_test(null)}" if null is not None else ""


def _noisy(evidence: Evidence, limits: Limits) -> Flag:
    """Noise: preferences that random pairing explains, in enough pairs to tell, and that repeats do not deny."""
    null, alpha = evidence.null, limits.significance
    structure = null is not None and (
        null.stable_above(alpha) or null.positional_above(alpha) or null.slots_differ(alpha)
    )
    consistent = evidence.consistency is not None and evidence.consistency.upper() >= limits.consistent
    flag = _Rule(
        name="noisy",
        symbol="SCS + PFP",
        share=evidence.committed,
        limit=limits.noisy,
        needs="same-quality pairs in both orders",
        agrees=not structure and not consistent,
        clears=True,
        tests=_all_tests(null),
    ).flag(evidence.unit)
    if flag.state == "raised" and null is not None and null.n_committed < limits.least_committed:
        needs = f"{limits.least_committed} pairs that commit in both orders (now {null.n_committed}), or repeats"
        return replace(flag, state="open", decides=needs)
    return flag


def flags_of(evidence: Evidence, limits: Limits) -> tuple[Flag, ...]:
    """Every flag with its state, in the order of the rules."""
    null, alpha = evidence.null, limits.significance
    pairs, ladder = "same-quality pairs in both orders", "the ladder probe, prefix arm"
    dark = _Rule(name="dark", symbol="DC", share=evidence.dark, limit=limits.dark, needs="the vacuum probe")
    rules = (
        _Rule(name="unreliable readings", symbol="invalid rate", share=evidence.invalid, limit=limits.invalid,
              needs="readings"),
        _Rule(name="insensitive", symbol="P_correct(5)", share=evidence.sensitive, limit=limits.sensitive,
              needs=f"{ladder}, at ΔQ 5, in both orders", above=False, half_seen="insensitive" in evidence.one_order),
        _Rule(name="length-led", symbol="accuracy against length", share=evidence.against_length,
              limit=limits.led_by_length, above=False,
              needs="preferences in the arms filled_longer and terse_better, in both orders"),
        _Rule(name="positional", symbol="PFP", share=evidence.positional, limit=limits.positional, needs=pairs,
              agrees=null is not None and null.slots_differ(alpha), tests=_slot_test(null)),
        _Rule(name="surface-sensitive", symbol="SCS", share=evidence.stable, limit=limits.surface, needs=pairs,
              agrees=null is not None and null.stable_above(alpha), tests=_stable_tests(null)),
        dark,
        _Rule(name="conservative", symbol="miss-by-tie(1)", share=evidence.missed, limit=limits.conservative,
              needs=f"{ladder}, at ΔQ 1, in both orders", half_seen="conservative" in evidence.one_order),
    )  # fmt: skip
    flags = [rule.flag(evidence.unit) for rule in rules]
    flags.insert(1, _noisy(evidence, limits))
    if not evidence.ties_allowed:
        reason = "fixed by the prompt, which allows no tie"
        fixed = ("dark", "conservative")
        flags = [
            Flag(name=flag.name, state="not_applicable", rule=reason) if flag.name in fixed else flag for flag in flags
        ]
    return tuple(flags)


def _is_clean(evidence: Evidence, limits: Limits, states: Mapping[str, FlagState]) -> bool:
    """Whether dark current, surface and slot preference are all shown to be small, and length does not lead."""
    return evidence.ties_allowed and _small(evidence, limits) and states["length-led"] in ("cleared", "not_measured")


def _small(evidence: Evidence, limits: Limits) -> bool:
    return all(share is not None and share.upper() <= limit for _, share, limit in _clean_limits(evidence, limits))


def _too_few(evidence: Evidence, limits: Limits) -> str:
    """Why nothing can be said yet, or ""."""
    lacking = []
    if evidence.n_pairs < limits.least_pairs:
        lacking.append(f"{evidence.n_pairs} complete same-quality pairs (at least {limits.least_pairs} needed)")
    if evidence.ties_allowed and evidence.n_vacuum < limits.least_vacuum:
        lacking.append(f"{evidence.n_vacuum} valid vacuum readings (at least {limits.least_vacuum} needed)")
    return " and ".join(lacking)


def _profile_name(evidence: Evidence, limits: Limits, states: Mapping[str, FlagState]) -> tuple[str, str]:
    """The first rule of the precedence that holds: (name, rule)."""
    raised = {name for name, state in states.items() if state == "raised"}
    too_few = _too_few(evidence, limits)
    if too_few and "unreliable readings" not in raised:
        return "undetermined", too_few
    for name in ("unreliable readings", "length-led", "noisy", "insensitive"):
        if name in raised:
            return name, f"flag {name}"
    if evidence.positional is not None and evidence.positional.lower() > limits.conflicted:
        low = evidence.positional.lower()
        return "presentation-conflicted", f"lower limit of PFP {low:.3f} > {limits.conflicted:g}"
    if {"positional", "surface-sensitive"} <= raised:
        return "mixed stable-positional", "flags positional and surface-sensitive"
    for name in ("positional", "surface-sensitive", "dark"):
        if name in raised:
            return name, f"flag {name}"
    if _is_clean(evidence, limits, states):
        rule = (
            f"upper limits: dark current ≤ {limits.clean_dark:g}, SCS ≤ {limits.clean_surface:g}, "
            f"PFP ≤ {limits.clean_positional:g}"
        )
        return "vacuum-clean", rule
    if not evidence.ties_allowed:
        return "undetermined", "no flag is raised, and a judge that may not tie can't be called vacuum-clean"
    if _small(evidence, limits):
        return "undetermined", "no flag is raised, but whether length leads the judge is open"
    return "undetermined", "no flag is raised, and the upper limits are too wide to call the judge vacuum-clean"


def _what_decides_profile(name: str, evidence: Evidence, limits: Limits, states: Mapping[str, FlagState]) -> str:
    """What an undetermined profile lacks."""
    if name != "undetermined":
        return ""
    lacking = []
    if evidence.n_pairs < limits.least_pairs:
        lacking.append(f"{limits.least_pairs - evidence.n_pairs} more complete same-quality pairs")
    if evidence.ties_allowed and evidence.n_vacuum < limits.least_vacuum:
        lacking.append(f"{limits.least_vacuum - evidence.n_vacuum} more valid vacuum readings")
    if lacking:
        return " and ".join(lacking)
    parts = []
    for symbol, share, limit in _clean_limits(evidence, limits):
        if share is None or share.upper() <= limit:
            continue
        if share.share > limit:
            parts.append(f"{symbol} {share.share:.3f} is above the {limit:g} of a vacuum-clean judge: its flag decides")
        else:
            parts.append(f"{symbol}: {_what_decides(share, limit, evidence.unit)}")
    if states["length-led"] == "open" and evidence.against_length is not None:
        parts.append(f"length-led: {_what_decides(evidence.against_length, limits.led_by_length, evidence.unit)}")
    return "to call it vacuum-clean: " + "; ".join(parts) if parts and evidence.ties_allowed else ""


def _clean_limits(evidence: Evidence, limits: Limits) -> tuple[tuple[str, ClusteredShare | None, float], ...]:
    """What must be shown to be small in a vacuum-clean judge: symbol, share, limit."""
    return (
        ("DC", evidence.dark, limits.clean_dark),
        ("SCS", evidence.stable, limits.clean_surface),
        ("PFP", evidence.positional, limits.clean_positional),
    )


def _class_letter(name: str, evidence: Evidence, limits: Limits) -> str | None:
    """The published case study's class: A with little dark current, B where the slot decides."""
    if name == "vacuum-clean":
        return "A"
    if name == "presentation-conflicted":
        return "B"
    clean = evidence.ties_allowed and evidence.dark is not None and evidence.dark.upper() <= limits.clean_dark
    return "A, Δ0 caveat" if name in _CAVEAT and clean else None


def profile_of(evidence: Evidence, limits: Limits | None = None) -> Profile:
    """Flags, and the profile by precedence."""
    limits = limits or Limits()
    flags = flags_of(evidence, limits)
    states = {flag.name: flag.state for flag in flags}
    name, rule = _profile_name(evidence, limits, states)
    sentence, use_for, not_for = _FITNESS[name]
    if evidence.invalid is not None and evidence.invalid.share == 1:
        sentence = "No reply gives a valid reading, so nothing else is measured."
    return Profile(
        name=name,
        class_letter=_class_letter(name, evidence, limits),
        rule=rule,
        decides=_what_decides_profile(name, evidence, limits, states),
        sentence=sentence,
        use_for=use_for,
        not_for=not_for,
        flags=flags,
    )
