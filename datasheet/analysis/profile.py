"""Flags and profile: what the measured quantities say of a judge, by rules over one-sided limits.

A flag is raised when the evidence is beyond its limit, cleared when the evidence is within, and open where neither can
be said. Several may stand together; one profile name follows by a fixed precedence.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from datasheet.analysis.intervals import ClusteredShare
from datasheet.analysis.pairing_null import PairingNull

FlagState = Literal["raised", "cleared", "open", "not_applicable", "not_measured"]

MOST_TASKS = 2000
"""Where more tasks than this would be needed, more tasks are not the answer."""


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
    least_pairs: int = 20
    least_vacuum: int = 10

    def as_dict(self) -> dict[str, float]:
        """Limits by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the rules look at; None is "not measured"."""

    dark: ClusteredShare | None
    stable: ClusteredShare | None
    positional: ClusteredShare | None
    committed: ClusteredShare | None
    sensitive: ClusteredShare | None
    missed: ClusteredShare | None
    invalid: ClusteredShare | None
    null: PairingNull | None
    n_pairs: int
    n_vacuum: int
    ties_allowed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag: its state, the rule with the figures that decided it, and what would decide an open one."""

    name: str
    state: FlagState
    rule: str
    decides: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The judge's profile: name, the paper's class letter, the rule that gave it, and what the judge is fit for."""

    name: str
    class_letter: str | None
    rule: str
    sentence: str
    use_for: str
    not_for: str
    flags: tuple[Flag, ...]

    def raised(self, name: str) -> bool:
        """Whether a flag stands."""
        return any(flag.name == name and flag.state == "raised" for flag in self.flags)


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
        "Between answers of equal quality its preference is what a coin flipped on each call would give.",
        "differences large enough to stand out from the noise, with several calls a pair",
        "answers of similar quality, single calls",
    ),
    "insensitive": (
        "It misses even the largest quality step of the ladder.",
        "nothing that depends on quality; debugging the prompt or the pipeline",
        "ranking, gating or choosing answers",
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
        "It rarely prefers without a difference in content: little dark current, little surface or slot preference.",
        "pairwise comparison, in both orders",
        "differences below its detection threshold, which it may leave as ties",
    ),
}

_CAVEAT = ("mixed stable-positional", "positional", "surface-sensitive")


def tasks_to_decide(share: ClusteredShare, limit: float, confidence_level: float = 0.95) -> int | None:
    """Tasks in all that would put the one-sided limit on the estimate's side of ``limit``, all else as it is.

    None where the share is at the limit, the readings have no tasks, or over :data:`MOST_TASKS` would be needed.
    """
    if share.independent or share.n_clusters < 2 or share.share == limit:
        return None
    per_task = share.n / share.n_clusters
    for n_clusters in range(share.n_clusters + 1, MOST_TASKS + 1):
        wider = ClusteredShare(
            share=share.share,
            n=per_task * n_clusters,
            n_clusters=n_clusters,
            design_effect=share.design_effect,
            independent=False,
        )
        if share.share < limit and wider.upper(confidence_level) <= limit:
            return n_clusters
        if share.share > limit and wider.lower(confidence_level) > limit:
            return n_clusters
    return None


def _what_decides(share: ClusteredShare, limit: float) -> str:
    needed = tasks_to_decide(share, limit)
    if needed is None:
        return "more tasks; how many can't be said"
    more = needed - share.n_clusters
    return f"about {more} more {'task' if more == 1 else 'tasks'} ({needed} in all), if the share stays"


def _above(
    name: str, symbol: str, share: ClusteredShare | None, limit: float, *, also: tuple[bool | None, str] | None = None
) -> Flag:
    """A flag that rises when a share is above its limit and, where given, a test agrees."""
    if share is None:
        return Flag(
            name=name,
            state="not_measured",
            rule=f"lower limit of {symbol} > {limit:g}",
            decides="the readings it rests on",
        )
    low, high = share.lower(), share.upper()
    rule = f"{symbol} {share.share:.3f}, one-sided 95% limits {low:.3f} and {high:.3f}, against {limit:g}"
    tested, sentence = also if also is not None else (True, "")
    rule += f"; {sentence}" if sentence else ""
    if low > limit and tested:
        return Flag(name=name, state="raised", rule=rule)
    if high <= limit:
        return Flag(name=name, state="cleared", rule=rule)
    if low > limit:
        return Flag(name=name, state="open", rule=rule, decides="more same-quality pairs, or repeats")
    return Flag(name=name, state="open", rule=rule, decides=_what_decides(share, limit))


def _below(name: str, symbol: str, share: ClusteredShare | None, limit: float) -> Flag:
    """A flag that rises when a share is below its limit."""
    if share is None:
        return Flag(
            name=name,
            state="not_measured",
            rule=f"upper limit of {symbol} < {limit:g}",
            decides="the readings it rests on",
        )
    low, high = share.lower(), share.upper()
    rule = f"{symbol} {share.share:.3f}, one-sided 95% limits {low:.3f} and {high:.3f}, against {limit:g}"
    if high < limit:
        return Flag(name=name, state="raised", rule=rule)
    if low >= limit:
        return Flag(name=name, state="cleared", rule=rule)
    return Flag(name=name, state="open", rule=rule, decides=_what_decides(share, limit))


def _noisy(evidence: Evidence, limits: Limits) -> Flag:
    null = evidence.null
    above_null = null is not None and null.p_stable < limits.significance
    slots_differ = null is not None and null.p_slot is not None and null.p_slot < limits.significance
    flag = _above(
        "noisy",
        "SCS + PFP",
        evidence.committed,
        limits.noisy,
        also=(not above_null and not slots_differ, _null_sentence(null)),
    )
    if flag.state == "open" and (above_null or slots_differ):
        return Flag(name="noisy", state="cleared", rule=flag.rule)
    return flag


def _null_sentence(null: PairingNull | None) -> str:
    if null is None:
        return ""
    slot = "no same-slot pair" if null.p_slot is None else f"first-first against second-second p = {null.p_slot:.2g}"
    return f"SCS above random pairing p = {null.p_stable:.2g}; {slot}"


def flags_of(evidence: Evidence, limits: Limits) -> tuple[Flag, ...]:
    """Every flag with its state, in the order of the rules."""
    null = evidence.null
    slots_differ = null is not None and null.p_slot is not None and null.p_slot < limits.significance
    above_null = null is not None and null.p_stable < limits.significance
    sentence = _null_sentence(null)
    dark = _above("dark", "dark current", evidence.dark, limits.dark)
    conservative = _above("conservative", "miss-by-tie(1)", evidence.missed, limits.conservative)
    if not evidence.ties_allowed:
        reason = "fixed by the prompt, which allows no tie"
        dark = Flag(name="dark", state="not_applicable", rule=reason)
        conservative = Flag(name="conservative", state="not_applicable", rule=reason)
    return (
        _above("unreliable readings", "invalid rate", evidence.invalid, limits.invalid),
        _noisy(evidence, limits),
        _below("insensitive", "P_correct(5)", evidence.sensitive, limits.sensitive),
        _above("positional", "PFP", evidence.positional, limits.positional, also=(slots_differ, sentence)),
        _above("surface-sensitive", "SCS", evidence.stable, limits.surface, also=(above_null, sentence)),
        dark,
        conservative,
    )


def _is_clean(evidence: Evidence, limits: Limits) -> bool:
    """Whether dark current, surface and slot preference are all shown to be small."""
    bounded = (
        (evidence.dark, limits.clean_dark),
        (evidence.stable, limits.clean_surface),
        (evidence.positional, limits.clean_positional),
    )
    return evidence.ties_allowed and all(share is not None and share.upper() <= limit for share, limit in bounded)


def _profile_name(evidence: Evidence, limits: Limits, raised: set[str]) -> tuple[str, str]:
    """The first rule of the precedence that holds: (name, rule)."""
    if evidence.n_pairs < limits.least_pairs or evidence.n_vacuum < limits.least_vacuum:
        rule = (
            f"{evidence.n_pairs} complete same-quality pairs (at least {limits.least_pairs} needed) and "
            f"{evidence.n_vacuum} valid vacuum readings (at least {limits.least_vacuum} needed)"
        )
        return "undetermined", rule
    for name in ("unreliable readings", "noisy", "insensitive"):
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
    if _is_clean(evidence, limits):
        rule = (
            f"upper limits: dark current ≤ {limits.clean_dark:g}, SCS ≤ {limits.clean_surface:g}, "
            f"PFP ≤ {limits.clean_positional:g}"
        )
        return "vacuum-clean", rule
    return "undetermined", "no flag is raised, and the upper limits are too wide to call the judge clean"


def profile_of(evidence: Evidence, limits: Limits | None = None) -> Profile:
    """Flags, and the profile by precedence."""
    limits = limits or Limits()
    flags = flags_of(evidence, limits)
    raised = {flag.name for flag in flags if flag.state == "raised"}
    name, rule = _profile_name(evidence, limits, raised)
    letter = None
    if name == "vacuum-clean":
        letter = "A"
    elif name == "presentation-conflicted":
        letter = "B"
    elif name in _CAVEAT and any(flag.name == "dark" and flag.state in ("cleared", "open") for flag in flags):
        letter = "A, Δ0 caveat"
    sentence, use_for, not_for = _FITNESS[name]
    return Profile(
        name=name,
        class_letter=letter,
        rule=rule,
        sentence=sentence,
        use_for=use_for,
        not_for=not_for,
        flags=flags,
    )
