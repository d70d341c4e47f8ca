"""The table of characteristics: for each key its symbol, title, unit, condition, way to it, meaning and section.

Every figure of a sheet explains itself from this table and from nowhere else. Words in braces are filled in with what
the readings cover (:mod:`datasheet.sheet.catalogue`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial


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
    how
        How the figure and its limits are had; an estimate's own method says how it was there.
    meaning
        One sentence for a reader who meets it for the first time.
    """

    key: str
    symbol: str
    title: str
    unit: str
    section: str
    conditions: str
    how: str
    meaning: str


_VACUUM = "{vacuum_kinds}"
_SAME = "equal quality, same requirements met{same_orders}"
_DIFFERENT = "equally many, but different requirements met{different_orders}"
_PREFIX = "prefix arm{prefix_orders}"
_REPEATED = "presentations{repeats}"

_WILSON = "Wilson limits, widened where tasks differ"
_MODEL = "mode of the joint model; t limits over tasks"
_SOFT = "regression of label log-odds, censored where not listed; delete-a-task jackknife"
_DESCRIBES = "counted over these calls; no limits, for it describes them alone"

SOFT_WAYS = {
    "resolution": f"{_SOFT}: slope by ΔQ",
    "criterion": f"{_SOFT}: level of the tie",
    "position": f"{_SOFT}: slope by slot",
    "threshold_75": f"{_SOFT}: where the curve of the other three reaches 0.75",
}
"""How the model's figures are had where they come from log-probabilities."""

_vacuum = partial(Definition, unit="share", section="vacuum", conditions=_VACUUM)
_same = partial(
    Definition, unit="share", section="same_quality", conditions=_SAME, how=f"share of complete pairs; {_WILSON}"
)
_different = partial(
    Definition, unit="share", section="same_quality", conditions=_DIFFERENT, how=f"share of complete pairs; {_WILSON}"
)
_step = partial(
    Definition,
    unit="share",
    section="ladder",
    conditions=_PREFIX,
    how=f"share of valid readings, orders weighing alike; {_WILSON}",
)
_model = partial(Definition, section="model", conditions="joint model of {model_parts}{one_order}", how=_MODEL)
_worth = partial(
    Definition,
    unit="quality steps",
    section="model",
    conditions="joint model of {model_parts}{one_order}",
    how="ratio of two parameters of the joint model; Fieller limits",
)
_threshold = partial(
    Definition,
    unit="quality steps",
    section="model",
    conditions="joint model of {model_parts}{one_order}",
    how="where the joint model's curve reaches 0.75; t limits of its logarithm",
)
_described = partial(
    Definition, section="model", conditions="label log-probabilities of {model_parts}{one_order}", how=_DESCRIBES
)
_validity = partial(Definition, section="validity", conditions=_REPEATED)

DEFINITIONS = (
    _vacuum(
        key="dark_current",
        symbol="DC",
        title="Dark current",
        how=f"share of vacuum pairs; {_WILSON}",
        meaning="Share of readings that prefer an answer where there is nothing to prefer.",
    ),
    _vacuum(
        key="vacuum_first_share",
        symbol="DC₁",
        title="Lean of the dark current",
        how=f"share of vacuum readings that are no ties; {_WILSON}",
        meaning="Of the vacuum readings that are not ties, the share that falls on the answer shown first.",
    ),
    _vacuum(
        key="vacuum_difference",
        symbol="DC − raw",
        title="Vacuum less equal answers",
        conditions=f"{_VACUUM}; {_SAME}",
        how="difference of two shares; Newcombe limits from those of either",
        meaning="0 where a vacuum is judged as equal answers are.",
    ),
    _same(
        key="raw_false_preference",
        symbol="raw",
        title="Raw false preference",
        how=f"share of readings in complete pairs; {_WILSON}",
        meaning="Share of single readings that prefer an answer although the quality is equal; a mixture.",
    ),
    _same(
        key="stable_cross_sensitivity",
        symbol="SCS",
        title="Stable cross-sensitivity",
        meaning="Pairs where the same text wins in both orders: a stable preference for something other than quality.",
    ),
    _same(
        key="positional_false_preference",
        symbol="PFP",
        title="Positional false preference",
        meaning="Pairs where the same slot wins in both orders.",
    ),
    _same(
        key="first_first",
        symbol="FF",
        title="First slot in both orders",
        meaning="Pairs where the answer shown first wins both times.",
    ),
    _same(
        key="second_second",
        symbol="SS",
        title="Second slot in both orders",
        meaning="Pairs where the answer shown second wins both times.",
    ),
    _same(
        key="one_sided_commitment",
        symbol="OSC",
        title="One-sided commitment",
        meaning="Pairs where one order gives a preference and the other a tie.",
    ),
    _same(
        key="no_preference",
        symbol="NP",
        title="No preference",
        meaning="Pairs that tie in both orders.",
    ),
    _same(
        key="other_conflict",
        symbol="OC",
        title="Other conflict",
        meaning="Pairs in no other class; nothing with three verdicts.",
    ),
    _different(
        key="preference",
        symbol="pref",
        title="Preference between different contents",
        how=f"share of readings in complete pairs; {_WILSON}",
        meaning="How often the judge weighs one requirement above another; not a false preference.",
    ),
    _different(
        key="stable_preference",
        symbol="pref stable",
        title="Stable preference between different contents",
        meaning="Pairs where the same content wins in both orders: how firmly the judge weighs requirements.",
    ),
    Definition(
        key="position_log_odds",
        symbol="½ ln(FF/SS)",
        title="Position, log odds",
        unit="logit",
        section="position",
        conditions=_SAME,
        how=f"half the log odds of FF among same-slot pairs; {_WILSON}",
        meaning="The pull of the first slot in logits; only where no tie can occur.",
    ),
    _step(
        key="p_correct",
        symbol="P_correct({n})",
        title="Better answer preferred",
        meaning="Share of readings that prefer the answer that is {n} quality {steps} better.",
    ),
    _step(
        key="miss_by_tie",
        symbol="tie({n})",
        title="Missed by a tie",
        meaning="Share of readings that call a tie although one answer is {n} {steps} better.",
    ),
    _step(
        key="wrong_choice",
        symbol="wrong({n})",
        title="Worse answer preferred",
        meaning="Share of readings that prefer the answer that is {n} {steps} worse.",
    ),
    _step(
        key="accuracy_non_ties",
        symbol="acc({n})",
        title="Accuracy among non-ties",
        how=f"share of valid readings that are no ties, orders weighing alike; {_WILSON}",
        meaning="Share of the better answer among the readings that prefer one, at {n} {steps}.",
    ),
    _step(
        key="threshold_75_empirical",
        symbol="Δ*75 emp",
        title="Detection threshold, empirical",
        unit="quality steps",
        how="smallest tested ΔQ from which P_correct stays at 0.75 or more; low and high from its limits",
        meaning="The smallest tested difference from which at least three readings in four prefer the better answer.",
    ),
    _step(
        key="accuracy_against_length",
        symbol="acc vs length",
        title="Accuracy where length misleads",
        conditions="{opposed_arms}",
        how=f"share of valid readings that are no ties, orders weighing alike; {_WILSON}",
        meaning="Share of right preferences where the worse answer is the longer; below 1/2, length leads.",
    ),
    _threshold(
        key="threshold_75",
        symbol="Δ*75",
        title="Detection threshold, typical task",
        meaning="The difference at which three readings in four are right, on a typical task.",
    ),
    _threshold(
        key="threshold_75_marginal",
        symbol="Δ*75 pop",
        title="Detection threshold, population of tasks",
        meaning="The difference at which three readings in four are right, averaged over tasks.",
    ),
    _threshold(
        key="fc75",
        symbol="FC75",
        title="Criterion-free threshold",
        meaning="The threshold if the judge never called a tie.",
    ),
    _model(
        key="resolution",
        symbol="k",
        title="Resolution",
        unit="sd per step",
        meaning="Standard deviations of evidence a quality step.",
    ),
    _model(
        key="criterion",
        symbol="c",
        title="Criterion",
        unit="sd",
        meaning="Evidence that the judge wants before it prefers.",
    ),
    _model(
        key="position",
        symbol="b",
        title="Position",
        unit="sd",
        meaning="Evidence that the first slot is given for nothing.",
    ),
    _worth(
        key="position_in_steps",
        symbol="b/k",
        title="Worth of the first slot",
        meaning="Quality steps that the first slot is worth against a neutral one; a swap is worth twice that.",
    ),
    _model(
        key="stable_correlation",
        symbol="rho",
        title="Stable correlation",
        unit="1",
        meaning="Share of the evidence's variance that stays when the order is swapped.",
    ),
    _model(
        key="task_spread",
        symbol="tau",
        title="Task spread",
        unit="log k",
        meaning="How much the resolution differs between tasks.",
    ),
    _worth(
        key="noise_equivalent_delta_q",
        symbol="NEΔQ",
        title="Noise-equivalent ΔQ",
        how="1/k of the joint model; limits from those of k",
        meaning="A quality difference as large as a reading's noise.",
    ),
    _model(
        key="length_slope",
        symbol="g",
        title="Length",
        unit="sd per 100 {length_unit}",
        meaning="Evidence that 100 more {length_unit} add.",
    ),
    _worth(
        key="length_in_steps",
        symbol="g/k",
        title="Worth of 100 {length_unit}",
        unit="quality steps per 100 {length_unit}",
        meaning="g divided by k.",
    ),
    _model(
        key="filler_slope",
        symbol="h",
        title="Filler",
        unit="sd per 100 {length_unit}",
        meaning="Evidence that 100 {length_unit} of filler cost.",
    ),
    _worth(
        key="filler_in_steps",
        symbol="h/k",
        title="Cost of 100 {length_unit} of filler",
        unit="quality steps per 100 {length_unit}",
        meaning="h divided by k.",
    ),
    _model(
        key="channel_slope",
        symbol="γ",
        title="Channel",
        unit="sd per dose",
        meaning="Evidence that a dose of a nuisance is worth to the answer that holds it.",
    ),
    _model(
        key="channel_intercept",
        symbol="γ0",
        title="Channel intercept",
        unit="sd",
        meaning="Evidence for the other wording of the answer that holds a channel's doses, before any dose.",
    ),
    _worth(
        key="channel_in_steps",
        symbol="γ/k",
        title="Worth of a dose",
        unit="quality steps per dose",
        meaning="Quality steps that a dose of a nuisance is worth.",
    ),
    _model(
        key="base_level_slope",
        symbol="dk/dL",
        title="Resolution by base level",
        unit="sd per step and level",
        how="the joint model with a slope for the level and free steps; t limits over tasks",
        meaning="Change of k a level; 0 if steps are equal.",
    ),
    _described(
        key="label_mass",
        symbol="p_label",
        title="Label mass",
        unit="share",
        conditions="all calls that list candidates",
        meaning="Probability that the judge gives to any label; the rest goes to words that are none.",
    ),
    _described(
        key="label_agreement",
        symbol="agr",
        title="Verdicts that are their likeliest label",
        unit="share",
        meaning="Share of verdicts with no likelier label in their call; below 1 where verdicts are drawn.",
    ),
    _described(
        key="censored_share",
        symbol="cens",
        title="Censored calls",
        unit="share",
        meaning="Share of calls that list the label of one answer, or of none; from 1/2 on, hard verdicts say more.",
    ),
    _described(
        key="residual_normality",
        symbol="r_pp",
        title="Normality of the evidence",
        unit="1",
        meaning="Probability plot correlation of the residual evidence: 1 where it is normal, as it is taken to be.",
    ),
    _validity(
        key="invalid_rate",
        symbol="inv",
        title="Invalid readings",
        unit="share",
        conditions="all readings",
        how=f"share of all readings; {_WILSON}",
        meaning="Share of replies that give no valid reading; they are missing data, never ties.",
    ),
    _validity(
        key="self_consistency",
        symbol="r",
        title="Self-consistency",
        unit="share",
        how=f"mean chance that two calls on a presentation agree; {_WILSON}",
        meaning="The chance that two fresh calls on the same input give the same verdict.",
    ),
    _validity(
        key="unstable_share",
        symbol="unst",
        title="Unstable presentations",
        unit="share",
        how=f"share of repeated presentations; {_WILSON}",
        meaning="Share of repeated presentations whose verdicts are not all the same.",
    ),
    _validity(
        key="within_stimulus_variance",
        symbol="s²w",
        title="Within-stimulus variance",
        unit="1",
        how=f"mean unbiased variance of a presentation's readings; {_WILSON} of half of it",
        meaning="Variance of the readings (first +1, tie 0, second -1) of one and the same presentation.",
    ),
    _validity(
        key="call_noise_share",
        symbol="1-rho_r",
        title="Call noise",
        unit="1",
        conditions="presentations of equal quality{repeats}",
        how="test-retest correlation of normal evidence; limits from those of r",
        meaning="Share of the evidence's variance that is new on each call.",
    ),
)
