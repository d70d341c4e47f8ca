"""The table of characteristics: for each key its symbol, title, unit, condition and section.

Every figure of a sheet explains itself from this table and from nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What a key means.

    Attributes
    ----------
    symbol
        As printed, with the condition where there is one.
    title
        A plain name.
    conditions
        On what it was measured.
    meaning
        One sentence for a reader who meets it for the first time.
    """

    key: str
    symbol: str
    title: str
    unit: str
    section: str
    conditions: str
    meaning: str


_SAME = "equal quality, same requirements met, both orders"
_VACUUM = "empty, blank and identical answers"
_LADDER = "prefix arm, both orders"
_MODEL = "joint model, all arms"

DEFINITIONS = (
    Definition(
        key="dark_current",
        symbol="DC",
        title="Dark current",
        unit="share",
        section="vacuum",
        conditions=_VACUUM,
        meaning="Share of readings that prefer an answer where there is nothing to prefer.",
    ),
    Definition(
        key="vacuum_first_share",
        symbol="DC₁",
        title="Lean of the dark current",
        unit="share",
        section="vacuum",
        conditions=_VACUUM,
        meaning="Of the vacuum readings that are not ties, the share that falls on the answer shown first.",
    ),
    Definition(
        key="raw_false_preference",
        symbol="raw",
        title="Raw false preference",
        unit="share",
        section="same_quality",
        conditions=_SAME,
        meaning="Share of single readings that prefer an answer although the quality is equal; a mixture.",
    ),
    Definition(
        key="stable_cross_sensitivity",
        symbol="SCS",
        title="Stable cross-sensitivity",
        unit="share",
        section="same_quality",
        conditions=_SAME,
        meaning="Pairs where the same text wins in both orders: a stable preference for something other than quality.",
    ),
    Definition(
        key="positional_false_preference",
        symbol="PFP",
        title="Positional false preference",
        unit="share",
        section="same_quality",
        conditions=_SAME,
        meaning="Pairs where the same slot wins in both orders.",
    ),
    Definition(
        key="first_first",
        symbol="FF",
        title="First slot in both orders",
        unit="share",
        section="same_quality",
        conditions=_SAME,
        meaning="Pairs where the answer shown first wins both times.",
    ),
    Definition(
        key="second_second",
        symbol="SS",
        title="Second slot in both orders",
        unit="share",
        section="same_quality",
        conditions=_SAME,
        meaning="Pairs where the answer shown second wins both times.",
    ),
    Definition(
        key="one_sided_commitment",
        symbol="OSC",
        title="One-sided commitment",
        unit="share",
        section="same_quality",
        conditions=_SAME,
        meaning="Pairs where one order gives a preference and the other a tie.",
    ),
    Definition(
        key="no_preference",
        symbol="NP",
        title="No preference",
        unit="share",
        section="same_quality",
        conditions=_SAME,
        meaning="Pairs that tie in both orders.",
    ),
    Definition(
        key="other_conflict",
        symbol="OC",
        title="Other conflict",
        unit="share",
        section="same_quality",
        conditions=_SAME,
        meaning="Pairs in no other class; nothing with three verdicts.",
    ),
    Definition(
        key="preference",
        symbol="pref",
        title="Preference between different contents",
        unit="share",
        section="same_quality",
        conditions="equally many, but different requirements met, both orders",
        meaning="How often the judge weighs one requirement above another; not a false preference.",
    ),
    Definition(
        key="stable_preference",
        symbol="pref stable",
        title="Stable preference between different contents",
        unit="share",
        section="same_quality",
        conditions="equally many, but different requirements met, both orders",
        meaning="Pairs where the same content wins in both orders: how firmly the judge weighs requirements.",
    ),
    Definition(
        key="position_log_odds",
        symbol="½ ln(FF/SS)",
        title="Position, log odds",
        unit="logit",
        section="position",
        conditions=_SAME,
        meaning="The pull of the first slot in logits; only where no tie can occur.",
    ),
    Definition(
        key="p_correct",
        symbol="P_correct({n})",
        title="Better answer preferred",
        unit="share",
        section="ladder",
        conditions=_LADDER,
        meaning="Share of readings that prefer the answer that is {n} quality {steps} better.",
    ),
    Definition(
        key="miss_by_tie",
        symbol="tie({n})",
        title="Missed by a tie",
        unit="share",
        section="ladder",
        conditions=_LADDER,
        meaning="Share of readings that call a tie although one answer is {n} {steps} better.",
    ),
    Definition(
        key="wrong_choice",
        symbol="wrong({n})",
        title="Worse answer preferred",
        unit="share",
        section="ladder",
        conditions=_LADDER,
        meaning="Share of readings that prefer the answer that is {n} {steps} worse.",
    ),
    Definition(
        key="accuracy_non_ties",
        symbol="acc({n})",
        title="Accuracy among non-ties",
        unit="share",
        section="ladder",
        conditions=_LADDER,
        meaning="Share of the better answer among the readings that prefer one, at {n} {steps}.",
    ),
    Definition(
        key="threshold_75_empirical",
        symbol="Δ*75 emp",
        title="Detection threshold, empirical",
        unit="quality steps",
        section="ladder",
        conditions=_LADDER,
        meaning="The smallest tested difference from which at least three readings in four prefer the better answer.",
    ),
    Definition(
        key="accuracy_against_length",
        symbol="acc vs length",
        title="Accuracy where length misleads",
        unit="share",
        section="ladder",
        conditions="arms filled_longer and terse_better",
        meaning="Share of right preferences where the worse answer is the longer; below 1/2, length leads.",
    ),
    Definition(
        key="threshold_75",
        symbol="Δ*75",
        title="Detection threshold, typical task",
        unit="quality steps",
        section="model",
        conditions=_MODEL,
        meaning="The difference at which three readings in four are right, on a typical task.",
    ),
    Definition(
        key="threshold_75_marginal",
        symbol="Δ*75 pop",
        title="Detection threshold, population of tasks",
        unit="quality steps",
        section="model",
        conditions=_MODEL,
        meaning="The difference at which three readings in four are right, averaged over tasks.",
    ),
    Definition(
        key="fc75",
        symbol="FC75",
        title="Criterion-free threshold",
        unit="quality steps",
        section="model",
        conditions=_MODEL,
        meaning="The threshold if the judge never called a tie.",
    ),
    Definition(
        key="resolution",
        symbol="k",
        title="Resolution",
        unit="sd per step",
        section="model",
        conditions=_MODEL,
        meaning="Standard deviations of evidence a quality step.",
    ),
    Definition(
        key="criterion",
        symbol="c",
        title="Criterion",
        unit="sd",
        section="model",
        conditions=_MODEL,
        meaning="Evidence that the judge wants before it prefers.",
    ),
    Definition(
        key="position",
        symbol="b",
        title="Position",
        unit="sd",
        section="model",
        conditions=_MODEL,
        meaning="Evidence that the first slot is given for nothing.",
    ),
    Definition(
        key="position_in_steps",
        symbol="b/k",
        title="Position in quality steps",
        unit="quality steps",
        section="model",
        conditions=_MODEL,
        meaning="Quality steps that the first slot is worth against a neutral one; a swap is worth twice that.",
    ),
    Definition(
        key="stable_correlation",
        symbol="rho",
        title="Stable correlation",
        unit="1",
        section="model",
        conditions=_MODEL,
        meaning="Share of the evidence's variance that stays when the order is swapped.",
    ),
    Definition(
        key="task_spread",
        symbol="tau",
        title="Task spread",
        unit="log k",
        section="model",
        conditions=_MODEL,
        meaning="How much the resolution differs between tasks.",
    ),
    Definition(
        key="noise_equivalent_delta_q",
        symbol="NEΔQ",
        title="Noise-equivalent ΔQ",
        unit="quality steps",
        section="model",
        conditions=_MODEL,
        meaning="A quality difference as large as a reading's noise.",
    ),
    Definition(
        key="length_slope",
        symbol="g",
        title="Length",
        unit="sd per 100 words",
        section="model",
        conditions=_MODEL,
        meaning="Evidence that 100 more words add.",
    ),
    Definition(
        key="length_in_steps",
        symbol="g/k",
        title="Length in quality steps",
        unit="quality steps",
        section="model",
        conditions=_MODEL,
        meaning="g divided by k.",
    ),
    Definition(
        key="filler_slope",
        symbol="h",
        title="Filler",
        unit="sd per 100 words",
        section="model",
        conditions=_MODEL,
        meaning="Evidence that 100 words of filler cost.",
    ),
    Definition(
        key="filler_in_steps",
        symbol="h/k",
        title="Filler in quality steps",
        unit="quality steps",
        section="model",
        conditions=_MODEL,
        meaning="h divided by k.",
    ),
    Definition(
        key="channel_slope",
        symbol="γ",
        title="Channel",
        unit="sd per dose",
        section="model",
        conditions=_MODEL,
        meaning="Evidence that a dose of a nuisance is worth to the answer that holds it.",
    ),
    Definition(
        key="channel_in_steps",
        symbol="γ/k",
        title="Channel in quality steps",
        unit="quality steps",
        section="model",
        conditions=_MODEL,
        meaning="Quality steps that a dose of a nuisance is worth.",
    ),
    Definition(
        key="base_level_slope",
        symbol="dk/dL",
        title="Resolution by base level",
        unit="sd per step and level",
        section="model",
        conditions="joint model, ladder arms",
        meaning="Change of k a level; 0 if steps are equal.",
    ),
    Definition(
        key="vacuum_difference",
        symbol="DC − raw",
        title="Vacuum less equal answers",
        unit="share",
        section="vacuum",
        conditions="vacuum, equal quality",
        meaning="0 where a vacuum is judged as equal answers are.",
    ),
    Definition(
        key="unstable_share",
        symbol="unst",
        title="Unstable presentations",
        unit="share",
        section="validity",
        conditions="repeated presentations",
        meaning="Share of repeated presentations whose verdicts are not all the same.",
    ),
    Definition(
        key="within_stimulus_variance",
        symbol="s²w",
        title="Within-stimulus variance",
        unit="1",
        section="validity",
        conditions="repeated presentations",
        meaning="Variance of the readings (first +1, tie 0, second -1) of one and the same presentation.",
    ),
    Definition(
        key="call_noise_share",
        symbol="1-rho_r",
        title="Call noise",
        unit="1",
        section="validity",
        conditions="repeated presentations",
        meaning="Share of the evidence's variance that is new on each call.",
    ),
    Definition(
        key="self_consistency",
        symbol="r",
        title="Self-consistency",
        unit="share",
        section="validity",
        conditions="repeated presentations",
        meaning="The chance that two fresh calls on the same input give the same verdict.",
    ),
    Definition(
        key="invalid_rate",
        symbol="inv",
        title="Invalid readings",
        unit="share",
        section="validity",
        conditions="all readings",
        meaning="Share of replies that give no valid reading; they are missing data, never ties.",
    ),
)
