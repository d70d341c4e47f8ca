"""From readings to every characteristic of the sheet: the one entry point of the analysis.

First what needs no model, then the joint model and how far it holds, soft readings where there are any, and what
follows from them all: the flags, the confirmatory family, the budget of a win rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from datasheet.analysis import ladder, repeatability, vacuum, validity
from datasheet.analysis.budget import Budget, Study, win_rate_budget
from datasheet.analysis.diagnostics import Diagnostics, diagnose
from datasheet.analysis.model import ModelFinding, measure, prefix_resolution
from datasheet.analysis.multiplicity import Hypothesis, confirmatory_family
from datasheet.analysis.pair_table import dosed
from datasheet.analysis.pairing_null import PairingNull, pairing_null
from datasheet.analysis.presentations import share_of
from datasheet.analysis.profile import Evidence, Limits, Profile, profile_of
from datasheet.analysis.rates import MOST_NAMES, Rates, rates_of
from datasheet.analysis.soft_agreement import apart_flagged
from datasheet.analysis.soft_readings import soft_characteristics
from datasheet.readings import UNKNOWN, Readings
from datasheet.records import Estimate
from datasheet.seeds import child_rng

BUDGET_PROMPTS = 100
BUDGET_QUALITY_SD = 1.0
BUDGET_BETTER_SHARE = 0.6
BUDGET_STUDIES = tuple(
    Study.of_better_share(share, n_prompts=BUDGET_PROMPTS, quality_sd=BUDGET_QUALITY_SD, orders=orders)
    for share in (BUDGET_BETTER_SHARE, 0.5)
    for orders in (1, 2)
)
"""The win rates that a sheet shows the budget of: in one order and in both, of two systems of which one is better on
three prompts in five (near there win rates are argued about), and of two equal ones."""

SAME_QUALITY_ARMS = ("same_subset", "different_subset")


@dataclass(frozen=True, slots=True, kw_only=True)
class Characterisation:
    """All that the analysis found: the rates, the measurement model, and what follows from them.

    ``null`` is the decomposition under random pairing; None without complete pairs.
    ``diagnostics`` says how far the model may be believed, ``hypotheses`` is the confirmatory family under one
    multiplicity control, ``budgets`` those of the win rates of :data:`BUDGET_STUDIES`; none where the model gives none.
    """

    estimates: dict[str, Estimate]
    rates: Rates
    null: PairingNull | None
    model: ModelFinding
    diagnostics: Diagnostics
    hypotheses: tuple[Hypothesis, ...]
    budgets: tuple[Budget, ...]
    profile: Profile
    notes: tuple[str, ...]

    @property
    def anything_measured(self) -> bool:
        """Whether any quantity but the invalid rate could be measured."""
        return any(
            estimate.status in ("measured", "bounded")
            for key, estimate in self.estimates.items()
            if not key.startswith("invalid_rate")
        )


def profile_from(readings: Readings, rates: Rates, null: PairingNull | None, limits: Limits | None = None) -> Profile:
    """Flags and profile; they rest on rates and the null of the decomposition alone."""
    pairs = rates.pairs
    committed = pairs.in_class("stable_cross_sensitivity") | pairs.in_class("positional_false_preference")
    prefix = {step.delta_q: step for step in rates.steps if step.arm == ladder.PREFIX_ARM}
    opposed = readings.of_probe("ladder", *ladder.OPPOSED_ARMS)
    evidence = Evidence(
        dark=rates.dark,
        stable=pairs.share("stable_cross_sensitivity"),
        positional=pairs.share("positional_false_preference"),
        committed=share_of(committed, pairs.weight, pairs.cluster),
        sensitive=prefix[5].p_correct if 5 in prefix else None,
        missed=prefix[1].miss_by_tie if 1 in prefix else None,
        invalid=validity.invalid_share(readings),
        against_length=ladder.accuracy_against_length(readings) if all(ladder.by_order(opposed)) else None,
        consistency=repeatability.self_consistency(readings),
        null=null,
        n_pairs=pairs.n_complete,
        n_vacuum=0 if rates.dark is None else round(rates.dark.n),
        ties_allowed=readings.ties_allowed,
        unit="task" if readings.tasks else "pair",
        one_order=frozenset(
            name
            for name, delta_q in (("insensitive", 5), ("conservative", 1))
            if delta_q in prefix and not prefix[delta_q].in_both_orders
        ),
    )
    return profile_of(evidence, limits)


def _notes(readings: Readings) -> tuple[str, ...]:
    """What a reader should know of the log, beside its figures."""
    notes = list(readings.notes)
    without_task = int((readings.task == UNKNOWN).sum())
    if without_task == len(readings):
        notes.append("The log names no tasks: the limits take pairs to be independent, which they may not be.")
    elif without_task:
        notes.append(f"{without_task} readings name no task: each of their pairs counts as a task of its own.")
    if vacuum.has_both_orders_of_identical_pairs(readings.of_probe("vacuum")):
        notes.append(
            "The log carries both orders of vacuum pairs, which are one and the same input: their readings are "
            "averaged, and n counts distinct stimuli."
        )
    lost = len(readings.of_probe("channel")) - len(dosed(readings))
    if lost:
        notes.append(f"{lost} readings of the channel probe name no channel that is known, or no dose: not analysed.")
    arms = readings.of_probe("ladder").arm_names
    if len(arms) > MOST_NAMES + 1:
        notes.append(f"The ladder has {len(arms)} arms: {MOST_NAMES} of them are shown beside the prefix arm.")
    if len(readings.invalid_reasons) > MOST_NAMES:
        notes.append(
            f"The log names {len(readings.invalid_reasons)} reasons of invalid readings: the rarest are pooled."
        )
    same = readings.of_probe("same_quality")
    for arm in same.arm_names[:MOST_NAMES]:
        if arm not in SAME_QUALITY_ARMS:
            count = len(readings.of_probe("same_quality", arm))
            notes.append(
                f"{count} same-quality readings of the arm {arm!r} are kept, but not analysed: it is not known."
            )
    return tuple(notes)


def _hypotheses(readings: Readings, rates: Rates, model: ModelFinding, limits: Limits) -> tuple[Hypothesis, ...]:
    return confirmatory_family(
        dark=rates.dark if readings.ties_allowed else None,
        stable=rates.pairs.share("stable_cross_sensitivity"),
        positional=rates.pairs.share("positional_false_preference"),
        model=model,
        limits=limits,
    )


def _budgets(model: ModelFinding, *, n_outcomes: int) -> tuple[Budget, ...]:
    """The budgets of win rates, where all that they rest on is known."""
    fit = model.fit
    known = (model.estimates[key].status == "measured" for key in ("resolution", "position", "stable_correlation"))
    if fit is None or not fit.converged or not all(known) or fit.n_clusters < 2:
        return ()
    return tuple(
        win_rate_budget(
            fit.parameters,
            fit.covariance,
            study,
            degrees_of_freedom=fit.degrees_of_freedom,
            n_outcomes=n_outcomes,
        )
        for study in BUDGET_STUDIES
    )


def characterise(readings: Readings, *, limits: Limits | None = None, seed: int = 0) -> Characterisation:
    """Every characteristic of an instrument from its readings.

    Parameters
    ----------
    readings
        Of one instrument (judge, prompt variant, rubric, decoding).
    limits
        Where flags rise; the defaults of :class:`~datasheet.analysis.profile.Limits` if None.
    seed
        Of the random pairings that make the null of the decomposition.

    Raises
    ------
    EstimationError
        There are no readings at all.
    """
    rates = rates_of(readings)
    null = pairing_null(rates.pairs, rng=child_rng(seed, "pairing null"))
    model = measure(readings, empirical=rates.estimates["threshold_75_empirical"])
    diagnostics = diagnose(model)
    fitted = model.estimates | prefix_resolution(readings)
    fitted["base_level_slope"] = diagnostics.base_level_slope
    soft = soft_characteristics(readings)
    figures = apart_flagged(fitted, soft.figures)
    estimates = rates.estimates | diagnostics.flagged(fitted | figures) | soft.descriptions
    if not readings.tasks:
        estimates = {key: replace(estimate, n_clusters=None) for key, estimate in estimates.items()}
    return Characterisation(
        estimates=estimates,
        rates=rates,
        null=null,
        model=model,
        diagnostics=diagnostics,
        hypotheses=_hypotheses(readings, rates, model, limits or Limits()),
        budgets=_budgets(model, n_outcomes=3 if readings.ties_allowed else 2),
        profile=profile_from(readings, rates, null, limits),
        notes=(*_notes(readings), *ladder.order_notes(rates.steps), *model.notes, *diagnostics.notes),
    )
