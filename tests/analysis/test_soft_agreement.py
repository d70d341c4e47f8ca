"""Verdicts beside the labels of their calls: honest readouts pass at any temperature, mixed-up ones do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datasheet.analysis.characterise import characterise
from datasheet.analysis.soft_agreement import APART_FLAG, MOST_UNLIKELY, LabelAgreement, apart_flagged, label_agreement
from datasheet.analysis.soft_readings import SoftFinding, soft_characteristics
from datasheet.label_columns import LabelColumns
from datasheet.readings import ReadingRow, Readings
from datasheet.records import OUTCOMES, Estimate, LabelLogProbabilities

STEPS = np.repeat([0, 1, 2, 3, 4, 5], [60, 50, 40, 30, 20, 10])
SOFT = ("resolution@soft", "criterion@soft", "position@soft", "threshold_75@soft")


class Calls:
    """Label log-probabilities (rows first, tie, second) of an observer's calls in both orders, and its verdicts."""

    def __init__(self, *, scale: float, seed: int = 1, resolution: float = 0.8) -> None:
        self.rng = np.random.default_rng(seed)
        self.delta_q = np.tile(STEPS, 2)
        self.order = np.repeat([0, 1], len(STEPS)).astype(np.int32)
        evidence = resolution * self.delta_q + self.rng.standard_normal(len(self.delta_q))
        lean = np.where(self.order == 0, evidence, -evidence)
        first, second = -np.logaddexp(0, (0.6 - lean) / scale), -np.logaddexp(0, (0.6 + lean) / scale)
        self.logs = np.array([first, first + second + np.log(np.expm1(1.2 / scale)), second])

    def greedy(self) -> np.ndarray:
        return self.logs.argmax(axis=0).astype(np.int32)

    def drawn(self, temperature: float) -> np.ndarray:
        gumbel = self.rng.gumbel(size=self.logs.shape)
        return (self.logs / temperature + gumbel).argmax(axis=0).astype(np.int32)

    def by_content(self) -> np.ndarray:
        return np.where(self.order == 0, self.logs, self.logs[::-1])

    def agreement(self, verdict: np.ndarray, logs: np.ndarray | None = None) -> LabelAgreement:
        return label_agreement(columns(self.logs if logs is None else logs), outcome=verdict, order=self.order)


def columns(logs: np.ndarray) -> LabelColumns:
    first, tie, second = logs
    return LabelColumns(first=first, tie=tie, second=second, floor=np.full(len(first), min(-30.0, logs.min())))


@pytest.mark.parametrize("scale", [0.1, 0.4, 2.0])
def test_verdicts_that_are_the_likeliest_label_agree(scale: float) -> None:
    calls = Calls(scale=scale)
    found = calls.agreement(calls.greedy())
    assert (found.n, found.n_likeliest, found.mixed_up, found.disagrees) == (420, 420, "", False)


@pytest.mark.parametrize("scale", [0.1, 0.4, 2.0, 20.0])
@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_verdicts_that_are_drawn_are_told_and_never_taken_for_mixed_up(scale: float, temperature: float) -> None:
    for seed in range(60):
        calls = Calls(scale=scale, seed=seed)
        found = calls.agreement(calls.drawn(temperature))
        assert found.mixed_up == ""
        assert found.disagrees == (found.n - found.n_likeliest > MOST_UNLIKELY * found.n)
        if temperature == 1:
            expected = calls.logs.max(axis=0)
            sd = np.sqrt((np.exp(expected) * -np.expm1(expected)).sum())
            assert found.n_drawn == pytest.approx(np.exp(expected).sum())
            assert abs(found.n_likeliest - found.n_drawn) < 5 * sd + 1e-6
    assert Calls(scale=2.0).agreement(Calls(scale=2.0).drawn(1.0)).disagrees


@pytest.mark.parametrize(("scale", "drawn"), [(0.1, False), (0.4, False), (2.0, False), (0.1, True), (0.4, True)])
def test_probabilities_by_content_or_with_swapped_labels_are_mixed_up(scale: float, drawn: bool) -> None:
    for seed in range(20):
        calls = Calls(scale=scale, seed=seed)
        verdict = calls.drawn(1.0) if drawn else calls.greedy()
        by_content = calls.agreement(verdict, calls.by_content())
        assert by_content.mixed_up.startswith("where answer a is shown second")
        assert calls.agreement(verdict, calls.logs[::-1]).mixed_up.startswith("where answer a is shown first")
        assert by_content.disagrees


def test_probabilities_of_other_calls_are_flagged() -> None:
    calls = Calls(scale=0.4)
    assert calls.agreement(calls.greedy(), np.roll(calls.logs, 1, axis=1)).disagrees


def test_ties_that_are_not_the_likeliest_label_are_counted_only() -> None:
    calls = Calls(scale=2.0)
    verdict = np.full(len(calls.order), OUTCOMES.index("tie"), dtype=np.int32)
    found = calls.agreement(verdict)
    assert (found.n_likeliest, found.disagrees, found.mixed_up) == (0, True, "")


def test_three_calls_are_no_evidence() -> None:
    calls = Calls(scale=0.1)
    kept = np.arange(3)
    odd = label_agreement(columns(calls.logs[::-1][:, kept]), outcome=calls.greedy()[kept], order=calls.order[kept])
    assert odd.mixed_up == ""
    none = label_agreement(columns(calls.logs), outcome=np.full(420, -1, dtype=np.int32), order=calls.order)
    assert (none.n, none.mixed_up, none.disagrees) == (0, "", False)


def logged(calls: Calls, *, logs: np.ndarray, verdict: np.ndarray, silent: int = 0, invalid: int = 0) -> Readings:
    """Rows of a log; of the first replies, some are invalid and list no label, and then some list no candidates."""
    rows = []
    for place, (delta_q, order) in enumerate(zip(calls.delta_q.tolist(), calls.order.tolist(), strict=True)):
        bad, mute = place < invalid, invalid <= place < invalid + silent
        listed = (
            {"first": -np.inf, "tie": -np.inf, "second": -np.inf}
            if bad
            else dict(zip(("first", "tie", "second"), logs[:, place].tolist(), strict=True))
        )
        shares = None if mute else LabelLogProbabilities(**listed, floor=min(-30.0, float(logs.min())))
        pair = place % len(STEPS)
        rows.append(
            ReadingRow(
                stimulus=f"s{pair:03}",
                probe="ladder" if delta_q else "same_quality",
                arm="prefix" if delta_q else "same_subset",
                task=f"t{pair % 10}",
                delta_q=delta_q,
                order=("ab", "ba")[order],
                outcome=None if bad else OUTCOMES[verdict[place]],
                invalid="no_verdict" if bad else None,
                labels=shares,
            )
        )
    return Readings.from_rows(rows)


def found_in(calls: Calls, logs: np.ndarray, **how: int) -> SoftFinding:
    return soft_characteristics(logged(calls, logs=logs, verdict=calls.greedy(), **how))


def test_figures_of_mixed_up_probabilities_are_withheld_with_the_reason() -> None:
    calls = Calls(scale=0.4)
    fine, mixed = found_in(calls, calls.logs), found_in(calls, calls.by_content())
    for key in SOFT:
        assert fine.figures[key].status == "measured"
        assert "labels_disagree" not in fine.figures[key].flags
        assert mixed.figures[key].status == "undetermined"
        assert "the probabilities are not by slot" in mixed.figures[key].reason
    assert mixed.descriptions["residual_normality"].status == "undetermined"
    assert fine.descriptions["label_agreement"].estimate == 1
    share = mixed.descriptions["label_agreement"]
    assert share.estimate is not None
    assert share.estimate < 0.75
    assert share.method.startswith(f"{round((1 - share.estimate) * 420)} of 420 are not; ")


def test_figures_beside_drawn_verdicts_are_flagged() -> None:
    calls = Calls(scale=2.0)
    found = soft_characteristics(logged(calls, logs=calls.logs, verdict=calls.drawn(1.0)))
    for key in ("resolution@soft", "criterion@soft", "position@soft"):
        assert found.figures[key].status == "measured"
        assert "labels_disagree" in found.figures[key].flags
    assert found.descriptions["label_agreement"].flags == ("labels_disagree",)


def test_label_mass_counts_replies_that_name_no_label() -> None:
    """What an invalid reply gives to labels is nothing, which a mass over valid readings alone would hide."""
    calls = Calls(scale=0.4)
    logs = calls.logs + np.log(0.9)
    plain, mute = found_in(calls, logs).descriptions["label_mass"], found_in(calls, logs, silent=7)
    assert (plain.estimate, plain.n) == (pytest.approx(0.9), 420)
    assert plain.method == "median over calls, invalid replies too, smallest 0.900"
    assert mute.descriptions["label_mass"].n == 413
    assert mute.descriptions["label_mass"].method.endswith("smallest 0.900; 7 more list no candidates")
    some = found_in(calls, logs, invalid=5).descriptions["label_mass"]
    assert some.n == 420
    assert some.method.endswith("smallest 0.000; 5 of them list no label")
    most = found_in(calls, logs, invalid=230).descriptions["label_mass"]
    assert (most.estimate, most.n) == (0.0, 420)


def test_a_log_without_candidates_has_no_soft_figure() -> None:
    calls = Calls(scale=0.4)
    rows = logged(calls, logs=calls.logs, verdict=calls.greedy())
    assert soft_characteristics(replace(rows, labels=None)) == SoftFinding()


@pytest.mark.parametrize(
    ("hard", "apart"),
    [
        (Estimate(estimate=0.83, low=0.53, high=1.13), True),
        (Estimate(estimate=0.43, low=0.40, high=0.53), False),
        (Estimate(status="bounded", low=0.42), True),
        (Estimate(status="bounded", high=1.0), False),
        (Estimate.absent("undetermined", "open"), False),
    ],
)
def test_soft_and_hard_figures_that_exclude_each_other_are_flagged(hard: Estimate, apart: bool) -> None:
    soft = {"resolution@soft": Estimate(estimate=0.375, low=0.34, high=0.41)}
    found = apart_flagged({"resolution": hard}, soft)["resolution@soft"]
    assert (APART_FLAG in found.flags) is apart
    assert replace(found, flags=()) == soft["resolution@soft"]


def test_evidence_that_is_not_normal_sets_soft_and_hard_figures_apart() -> None:
    """A judge that is sure of every call, and at times wrong: its label probabilities tell no distances."""
    rng = np.random.default_rng(2)
    calls = Calls(scale=0.4)
    right = rng.random(len(calls.delta_q)) < np.array([0.5, 0.8, 0.95, 0.99, 1.0, 1.0])[calls.delta_q]
    verdict = np.where(right == (calls.order == 0), 0, 2).astype(np.int32)
    sure = np.where(np.arange(3)[:, None] == verdict, np.log(1 - 1e-9), np.log(4e-10))
    rows = [
        ReadingRow(stimulus=f"s{place % len(STEPS)}", probe="ladder" if step else "same_quality",
                   arm="prefix" if step else "same_subset", task=f"t{place % 12}", delta_q=int(step),
                   order=("ab", "ba")[order], outcome=OUTCOMES[code],
                   labels=LabelLogProbabilities(first=logs[0], tie=logs[1], second=logs[2], floor=float(min(logs))))
        for place, (step, order, code, logs) in enumerate(
            zip(calls.delta_q, calls.order, verdict, sure.T.tolist(), strict=True)
        )
    ]  # fmt: skip
    found = characterise(Readings.from_rows(rows)).estimates
    apart = [key for key in SOFT if APART_FLAG in found[key].flags]
    assert apart, {key: (found[key], found[key.removesuffix("@soft")]) for key in SOFT}
