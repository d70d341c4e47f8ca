"""Builds the datasheet: one JSON object that holds every figure, and the readings to recompute it from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from datasheet.analysis import validity
from datasheet.analysis.budget import Budget
from datasheet.analysis.characterise import Characterisation
from datasheet.analysis.derived import p_correct
from datasheet.analysis.diagnostics import Diagnostics
from datasheet.analysis.intervals import CONFIDENCE_LEVEL, ClusteredShare
from datasheet.analysis.ladder import LadderStep
from datasheet.analysis.model import ModelFinding
from datasheet.analysis.pairing_null import DRAWS, PairingNull
from datasheet.analysis.profile import Limits
from datasheet.analysis.rates import MOST_NAMES
from datasheet.analysis.repeatability import Unstable
from datasheet.analysis.swap_pairs import CLASSES
from datasheet.readings import Readings
from datasheet.records import ORDERS, OUTCOMES, PROBES, Estimate
from datasheet.sheet.catalogue import define
from datasheet.sheet.scope import Scope, scope_of
from datasheet.sheet.statements import LIMITS_OF_USE, non_claims, summary_sentence

FORMAT = "judge-datasheet"
MOST_STEPS = 5
MOST_NOTES = 50
_CURVE_POINTS = 50
VERSION = 1

SUMMARY_KEYS = (
    *("dark_current", "stable_cross_sensitivity", "positional_false_preference", "p_correct_1", "p_correct_5"),
    *("threshold_75_empirical", "accuracy_against_length", "invalid_rate"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetContext:
    """What stands beside the figures: who was measured, with what, how and when.

    ``judge`` has at least name, judge_id, prompt, simulated and ties_allowed; ``operation`` is None where a log does
    not tell how the judge ran.
    """

    judge: Mapping[str, Any]
    bank: Mapping[str, Any]
    design: Mapping[str, Any]
    operation: Mapping[str, Any] | None
    provenance: Mapping[str, Any]
    gates: Sequence[str] = field(default=())
    notes: Sequence[str] = field(default=())


def build_sheet(
    found: Characterisation, readings: Readings, context: SheetContext, limits: Limits | None = None
) -> dict[str, Any]:
    """The datasheet as the JSON object that its schema describes."""
    limits, scope = limits or Limits(), scope_of(readings)
    return {
        "format": FORMAT,
        "version": VERSION,
        "judge": dict(context.judge),
        "bank": dict(context.bank),
        "design": dict(context.design),
        "profile": _profile(found),
        "summary": {
            "sentence": summary_sentence(context.judge, found),
            "rows": [key for key in SUMMARY_KEYS if key in found.estimates],
            "decides": [{"flag": "profile", "needs": found.profile.decides}] * bool(found.profile.decides)
            + [
                {"flag": flag.name, "needs": flag.decides}
                for flag in found.profile.flags
                if flag.state in ("open", "not_measured")
            ],
        },
        "characteristics": [characteristic(key, estimate, scope) for key, estimate in found.estimates.items()],
        "clustered_rates": [
            _clustered_rate(share, found.estimates[key]) | {"key": key, "symbol": define(key, scope).symbol}
            for key, share in found.rates.headline.items()
        ],
        "curves": {
            "ladder": [_curve_point(step) for step in found.rates.steps],
            "model": _model_curve(found.model),
        },
        "decomposition": _decomposition(found),
        "hypotheses": [
            asdict(hypothesis) | {"symbol": define(hypothesis.key, scope).symbol} for hypothesis in found.hypotheses
        ],
        "budgets": [_budget(budget) for budget in found.budgets],
        "validity": _validity(found, readings, context, scope),
        "unstable": _unstable(found.rates.unstable),
        "operation": None if context.operation is None else dict(context.operation),
        "model": _model(found.model, found.diagnostics),
        "limits": limits.as_dict(),
        "limits_of_use": list(LIMITS_OF_USE),
        "non_claims": list(non_claims(context.bank, context.judge)),
        "notes": [*found.notes, *context.notes][:MOST_NOTES],
        "readings": readings.to_columns(),
        "provenance": dict(context.provenance),
    }


def characteristic(key: str, estimate: Estimate, scope: Scope) -> dict[str, Any]:
    """One row of the sheet: what the catalogue says of a key, and what was found."""
    definition = define(key, scope)
    return {
        "key": key,
        "symbol": definition.symbol,
        "title": definition.title,
        "section": definition.section,
        "conditions": definition.conditions,
        "meaning": definition.meaning,
        "how": definition.how,
        "estimate": estimate.estimate,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "n_clusters": estimate.n_clusters,
        "confidence_level": estimate.confidence_level,
        "method": estimate.method,
        "unit": definition.unit,
        "status": estimate.status,
        "flags": list(estimate.flags),
        "reason": estimate.reason,
    }


def _profile(found: Characterisation) -> dict[str, Any]:
    profile = found.profile
    return {
        "name": profile.name,
        "class": profile.class_letter,
        "rule": profile.rule,
        "sentence": profile.sentence,
        "use_for": profile.use_for,
        "not_for": profile.not_for,
        "flags": [flag.name for flag in profile.flags if flag.state == "raised"],
        "flag_states": [
            {"name": flag.name, "state": flag.state, "rule": flag.rule, "decides": flag.decides}
            for flag in profile.flags
        ],
    }


def _limits_of(share: ClusteredShare) -> dict[str, Any]:
    interval = share.interval()
    return {
        "share": share.share,
        "low": interval[0] if interval else None,
        "high": interval[1] if interval else None,
    }


def _clustered_rate(share: ClusteredShare, estimate: Estimate) -> dict[str, Any]:
    """A share with its default limits and, beside them, those of beta-binomial clusters."""
    beside = share.beta_binomial() or (None, None)
    return {
        "estimate": share.share,
        "n": round(share.n),
        "n_clusters": estimate.n_clusters,
        "design_effect": share.design_effect,
        "n_effective": share.n_effective,
        "low": estimate.low,
        "high": estimate.high,
        "beta_binomial_low": beside[0],
        "beta_binomial_high": beside[1],
        "confidence_level": CONFIDENCE_LEVEL,
        "reason": estimate.reason,
    }


def _curve_point(step: LadderStep) -> dict[str, Any]:
    return {
        "arm": step.arm,
        "delta_q": step.delta_q,
        "n": round(step.p_correct.n),
        "n_clusters": step.p_correct.n_clusters,
        "confidence_level": CONFIDENCE_LEVEL,
        "p_correct": _limits_of(step.p_correct),
        "miss_by_tie": _limits_of(step.miss_by_tie),
        "wrong_choice": _limits_of(step.wrong_choice),
    }


def _model(model: ModelFinding, diagnostics: Diagnostics) -> dict[str, Any]:
    """The fit itself, so that any function of its parameters can be worked out from the sheet."""
    fit = model.fit
    if fit is None:
        return {"status": "not_measured", "reason": model.estimates["resolution"].reason}
    return {
        "status": "measured" if fit.converged else "undetermined",
        "reason": "" if fit.converged else "the fit did not converge",
        "names": list(fit.names),
        "estimates": fit.theta.tolist(),
        "free": fit.free.tolist(),
        "covariance": fit.covariance.tolist(),
        "robust_covariance": fit.robust_covariance.tolist(),
        "degrees_of_freedom": fit.degrees_of_freedom,
        "log_likelihood": fit.log_likelihood,
        "largest_gradient": fit.largest_gradient,
        "n_pairs": fit.n_pairs,
        "n_clusters": fit.n_clusters,
        "lapse_rate": fit.lapse_rate,
        "lapse_sensitivity": [asdict(lapses) for lapses in diagnostics.lapses],
        "lapses_p": diagnostics.lapses_p,
        "steps_p": diagnostics.steps_p,
    }


def _model_curve(model: ModelFinding) -> list[dict[str, float]]:
    """P_correct of the fitted model on a typical task at equal length, in tenths of a step."""
    fit = model.fit
    if fit is None or not fit.converged or model.estimates["threshold_75"].status == "not_measured":
        return []
    delta_q = np.arange(_CURVE_POINTS + 1) / _CURVE_POINTS * MOST_STEPS
    return [
        {"delta_q": float(step), "p_correct": float(share)}
        for step, share in zip(delta_q, p_correct(fit.theta, delta_q), strict=True)
    ]


def _budget(budget: Budget) -> dict[str, Any]:
    """One win rate: how it is made, what it would be, and what it varies by."""
    lines = [asdict(line) | {"contribution": line.contribution} for line in budget.lines]
    return {
        **asdict(budget.study),
        "better_share": budget.study.better_share,
        "win_rate": budget.win_rate,
        "standard_uncertainty": budget.standard_uncertainty,
        "expanded_uncertainty": budget.expanded_uncertainty,
        "effective_degrees_of_freedom": budget.effective_degrees_of_freedom,
        "always_first_error": budget.always_first_error,
        "lines": lines,
    }


def _decomposition(found: Characterisation) -> dict[str, Any]:
    return {
        "n_complete": found.rates.pairs.n_complete,
        "n_incomplete": found.rates.pairs.n_incomplete,
        "classes": list(CLASSES),
        "null": None if found.null is None else _null(found.null),
    }


def _null(null: PairingNull) -> dict[str, Any]:
    return {
        **asdict(null),
        "method": f"slot readings of the first complete repeat of each pair, pooled over both orders and dealt out at "
        f"random ({DRAWS:,} draws): over all pairs, and over those that committed in both orders; first-first against "
        "second-second by the exact binomial test",
    }


def _unstable(unstable: Unstable) -> dict[str, list[Any]]:
    """Columns, one element a presentation that was not read the same each time; all of them."""
    shown = unstable.shown
    tasks = (*shown.tasks, None)  # a task that is not known has the code -1
    return {
        "stimulus": [shown.stimulus_ids[code] for code in shown.stimulus.tolist()],
        "probe": [PROBES[code] for code in shown.probe.tolist()],
        "arm": [shown.arms[code] for code in shown.arm.tolist()],
        "task": [tasks[code] for code in shown.task.tolist()],
        "order": [ORDERS[code] for code in shown.order.tolist()],
        **dict(zip(OUTCOMES, unstable.tallies.T.tolist(), strict=True)),
    }


def _validity(found: Characterisation, readings: Readings, context: SheetContext, scope: Scope) -> dict[str, Any]:
    common, rest = validity.commonest_reasons(readings, MOST_NAMES)
    reasons = {name: int((readings.invalid == readings.invalid_reasons.index(name)).sum()) for name in common}
    pooled = int((~readings.valid).sum()) - sum(reasons.values())
    return {
        "readings": len(readings),
        "valid": int(readings.valid.sum()),
        "invalid": reasons | ({"other": pooled} if rest else {}),
        "abstained": int((readings.abstained == 1).sum()),
        "unstable_presentations": len(found.rates.unstable),
        "gates": list(context.gates),
        "missing_bounds": [
            {
                "key": key,
                "symbol": define(key, scope).symbol,
                "lowest": bound.lowest,
                "highest": bound.highest,
                "missing": bound.missing,
                "total": bound.total,
            }
            for key, bound in found.rates.missing.items()
        ],
    }
