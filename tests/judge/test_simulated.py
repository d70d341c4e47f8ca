from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from statistics import NormalDist, fmean

import pytest
from asking import ask_together
from hypothesis import given, settings
from hypothesis import strategies as st
from stimulus.banks import make_bank

from datasheet.errors import UsageError
from datasheet.judge.base import Judge
from datasheet.judge.simulated import OBSERVERS, Dials, SimulatedJudge, observer
from datasheet.records import CHANNELS, Lexicon, Order, Outcome, Reply, Request, Stimulus, Trial
from datasheet.stimulus.design import plan
from datasheet.stimulus.lexicon import make_lexicon

BANK = make_bank(20)
LEXICON = make_lexicon(BANK)
STANDARD = plan(BANK, "standard")
DOSED = sorted({t.stimulus for t in plan(BANK, "full") if t.stimulus.probe == "channel"}, key=lambda s: s.id)
PAIRS = sorted({trial.stimulus for trial in STANDARD if not trial.stimulus.identical}, key=lambda s: s.id)
REPLIES: Mapping[Outcome, str] = {"first": "[[A]]", "second": "[[B]]", "tie": "[[C]]"}
NO_TIES: Mapping[Outcome, str] = {"first": "[[A]]", "second": "[[B]]"}
READ = {text: outcome for outcome, text in REPLIES.items()}
phi = NormalDist().cdf


def judge(dials: Dials, *, seed: int = 0) -> SimulatedJudge:
    return SimulatedJudge(dials, LEXICON, name="test", seed=seed)


def request(trial: Trial, *, replies: Mapping[Outcome, str] = REPLIES, key: str = "k") -> Request:
    first, second = trial.stimulus.shown(trial.order)
    text = f"{trial.stimulus.question}\n<A>{first}</A>\n<B>{second}</B>"
    messages = (("system", "Which answer is better?"), ("user", text))
    return Request(key=key, messages=messages, first=first, second=second, replies=replies, repeat=trial.repeat)


def read(observer: Judge, requests: Iterable[Request]) -> list[Outcome | None]:
    async def ask_all() -> list[Outcome | None]:
        await observer.open()
        replies = [await observer.ask(request) for request in requests]
        await observer.close()
        return [READ.get(reply.text) for reply in replies]

    return asyncio.run(ask_all())


def both_orders(dials: Dials, stimuli: list[Stimulus], *, repeats: int = 1) -> list[tuple[Outcome | None, ...]]:
    """The readings of each stimulus and repeat in the orders ab and ba."""
    orders: tuple[Order, ...] = ("ab", "ba")
    columns = [
        read(judge(dials), (request(Trial(stimulus=s, order=o, repeat=r)) for s in stimuli for r in range(repeats)))
        for o in orders
    ]
    return list(zip(*columns, strict=True))


def share(hits: Iterable[bool]) -> float:
    return fmean(map(float, hits))


def near(expected: float, *, n: int) -> object:
    """Equal within four standard errors of a share of n independent readings."""
    return pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / n) + 1e-9)


SAME_SUBSET = [s for s in PAIRS if s.arm == "same_subset"]
ONE_STEP = [s for s in PAIRS if s.arm == "prefix" and s.delta_q == 1]


def test_identity_says_that_no_model_stands_behind_it() -> None:
    careful = judge(observer("careful"), seed=4)
    assert (careful.adapter, careful.model, careful.simulated) == ("sim", "sim:test", True)
    assert careful.decoding == {**asdict(OBSERVERS["careful"]), "seed": 4}
    reply = asyncio.run(careful.ask(request(STANDARD[0])))
    assert (reply.model, reply.finish_reason, reply.latency_s, reply.completion_tokens) == ("sim:test", "stop", 0.0, 1)
    words = sum(len(text.split()) for _, text in request(STANDARD[0]).messages)
    assert reply.prompt_tokens == words


def test_unknown_observers_and_impossible_dials_are_refused() -> None:
    with pytest.raises(UsageError, match="no simulated observer 'gpt': choose one of careful, vacuum-clean"):
        observer("gpt")
    for dials in ({"lapse_rate": 1.5}, {"criterion": -0.1}, {"noise": math.nan}, {"step_inequality": 2.0}):
        with pytest.raises(UsageError, match=f"dial {next(iter(dials))} must be a number from"):
            Dials(**dials)


@pytest.mark.parametrize("name", OBSERVERS)
def test_a_reading_comes_from_the_shown_texts_alone(name: str) -> None:
    dials = OBSERVERS[name]
    trials = STANDARD[:200]
    stripped = [
        replace(
            t, stimulus=replace(t.stimulus, id="", probe="", arm="", task="", level_a=None, level_b=None, filler_b=0)
        )
        for t in trials
    ]
    bare = (request(t, key="") for t in stripped)
    assert read(judge(dials), (request(t, key=t.stimulus.id) for t in trials)) == read(judge(dials), bare)


def test_the_seed_and_the_repeat_make_fresh_draws_and_nothing_else_does() -> None:
    requests = [request(trial) for trial in STANDARD[:300]]
    dials = OBSERVERS["careful"]
    readings = read(judge(dials), requests)
    assert readings == read(judge(dials), requests)
    assert list(reversed(readings)) == read(judge(dials), reversed(requests))
    assert readings != read(judge(dials, seed=1), requests)
    assert readings != read(judge(dials), [replace(r, repeat=r.repeat + 5) for r in requests])


@settings(max_examples=25, deadline=None)
@given(
    sensitivity=st.floats(0, 3),
    spread=st.floats(0, 0.5),
    position=st.floats(-2, 2),
    length=st.floats(-4, 4),
    filler=st.floats(-4, 4),
    surface=st.floats(0, 1),
)
def test_mirrored_slots_turn_position_and_nothing_else(
    sensitivity: float, spread: float, position: float, length: float, filler: float, surface: float
) -> None:
    dials = Dials(
        sensitivity=sensitivity,
        task_spread=spread,
        length=length,
        filler=filler,
        surface=surface,
        position=position,
        noise=0,
    )
    mirror = {"first": "second", "second": "first", "tie": "tie", None: None}
    trials = [Trial(stimulus=s, order="ab") for s in PAIRS[:60]]
    swapped = [replace(t, order="ba") for t in trials]
    plain = read(judge(dials), map(request, trials))
    turned = read(judge(replace(dials, position=-position)), map(request, swapped))
    assert plain == [mirror[outcome] for outcome in turned]


def test_planted_sensitivity_criterion_and_position_show_in_rates() -> None:
    k, c, b = 0.8, 0.5, 0.4
    readings = both_orders(Dials(sensitivity=k, criterion=c, position=b), ONE_STEP, repeats=10)
    n = len(readings)
    assert share(first == "first" for first, _ in readings) == near(1 - phi(c - k - b), n=n)
    assert share(second == "second" for _, second in readings) == near(1 - phi(c - k + b), n=n)
    assert share(first == "tie" for first, _ in readings) == near(phi(c - k - b) - phi(-c - k - b), n=n)


def test_a_stable_preference_for_a_wording_holds_over_orders_and_repeats() -> None:
    dials = Dials(surface=1.0, noise=0.0, criterion=0.0, sensitivity=0.0)
    readings = both_orders(dials, SAME_SUBSET, repeats=3)
    assert {first != second for first, second in readings} == {True}
    assert all(len(set(readings[i : i + 3])) == 1 for i in range(0, len(readings), 3))
    assert share(first == "first" for first, _ in readings[::3]) == near(0.5, n=len(SAME_SUBSET))


def test_surface_squared_is_the_correlation_between_orders() -> None:
    rho = 0.6
    dials = Dials(sensitivity=0.0, criterion=0.0, surface=math.sqrt(rho), noise=math.sqrt(1 - rho))
    readings = both_orders(dials, PAIRS)
    same_content = share(first != second for first, second in readings)
    assert same_content == near(0.5 + math.asin(rho) / math.pi, n=len(PAIRS))


def test_coin_flips_are_independent_between_orders_and_repeats() -> None:
    readings = both_orders(observer("coin-flip"), PAIRS, repeats=2)
    found = Counter(readings)
    assert set(found) == {(first, second) for first in ("first", "second") for second in ("first", "second")}
    assert all(n / len(readings) == near(0.25, n=len(readings)) for n in found.values())
    repeated = share(readings[i] == readings[i + 1] for i in range(0, len(readings), 2))
    assert repeated == near(0.25, n=len(PAIRS))


def test_vacuum_pairs_of_different_questions_are_different_draws() -> None:
    trials = [t for t in plan(BANK, "standard", repeats=20) if t.stimulus.probe == "vacuum"]
    readings = read(judge(Dials(criterion=1.0, surface=0.9)), map(request, trials))
    assert share(outcome != "tie" for outcome in readings) == near(2 * phi(-1.0), n=len(trials))
    clean = read(judge(Dials(criterion=0.0, vacuum_criterion=9.0)), map(request, trials))
    assert set(clean) == {"tie"}


def test_length_and_filler_dials_are_per_hundred_words() -> None:
    pair = next(s for s in PAIRS if s.arm == "filled_longer" and s.delta_q == 3)
    more_words = len(pair.answer_b.split()) - len(pair.answer_a.split())
    for dial, evidence_for_b in (("length", more_words / 100), ("filler", -pair.filler_b / 100)):
        for margin, expected in ((0.99, "second" if evidence_for_b > 0 else "first"), (1.01, "tie")):
            dials = Dials(**{"sensitivity": 0.0, "noise": 0.0, dial: 1.0}, criterion=margin * abs(evidence_for_b))
            assert read(judge(dials), [request(Trial(stimulus=pair, order="ab"))]) == [expected]


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_channel_dial_is_evidence_for_each_dose_of_that_channel_alone(channel: str) -> None:
    dials = {
        criterion: Dials(**{"sensitivity": 0.0, "noise": 0.0, channel: -1.0}, criterion=criterion)
        for criterion in (0.5, 1.5, 2.5)
    }
    for criterion, reached in ((0.5, (1, 2)), (1.5, (2,)), (2.5, ())):
        for pair, (first, second) in zip(DOSED, both_orders(dials[criterion], DOSED), strict=True):
            disliked = pair.arm == channel and pair.dose in reached
            assert (first, second) == (("second", "first") if disliked else ("tie", "tie"))


def test_a_planted_channel_slope_shows_in_rates() -> None:
    slope, c, b = 0.7, 0.5, 0.3
    pairs = [s for s in DOSED if s.arm == "authority"]
    readings = both_orders(Dials(sensitivity=0.9, authority=slope, criterion=c, position=b), pairs, repeats=20)
    for dose in range(3):
        at_dose = [readings[i] for i in range(len(readings)) if pairs[i // 20].dose == dose]
        n = len(at_dose)
        assert share(first == "first" for first, _ in at_dose) == near(1 - phi(c - dose * slope - b), n=n)
        assert share(second == "second" for _, second in at_dose) == near(1 - phi(c - dose * slope + b), n=n)


def test_an_observer_without_phrases_heeds_no_channel() -> None:
    bare = SimulatedJudge(Dials(injection=9.0), Lexicon(requirements={}), name="bare")
    full = SimulatedJudge(Dials(), Lexicon(requirements={}), name="bare")
    requests = [request(Trial(stimulus=s, order="ab")) for s in DOSED]
    assert read(bare, requests) == read(full, requests)


def test_steps_may_be_unequal() -> None:
    pairs = {s.level_a: s for s in PAIRS if s.arm == "prefix" and s.delta_q == 1}
    dials = Dials(sensitivity=1.0, noise=0.0, step_inequality=0.5, criterion=0.99)
    readings = read(judge(dials), (request(Trial(stimulus=pairs[level], order="ab")) for level in range(1, 6)))
    assert readings == ["tie", "tie", "first", "first", "first"]


def test_task_spread_makes_a_log_normal_slope_for_each_task() -> None:
    dials = Dials(sensitivity=1.0, noise=0.0, task_spread=0.5, criterion=1.0)
    steepest: dict[str, set[Outcome | None]] = {}
    readings = read(judge(dials), (request(Trial(stimulus=s, order="ab")) for s in ONE_STEP))
    for stimulus, outcome in zip(ONE_STEP, readings, strict=True):
        steepest.setdefault(stimulus.task, set()).add(outcome)
    assert all(len(outcomes) == 1 for outcomes in steepest.values())
    assert 3 < sum(outcomes == {"first"} for outcomes in steepest.values()) < 17


def test_without_ties_the_sign_decides() -> None:
    trials = [Trial(stimulus=s, order="ab") for s in PAIRS]
    dials = Dials(sensitivity=0.5, criterion=3.0)
    with_ties = read(judge(dials), map(request, trials))
    forced = read(judge(dials), (request(t, replies=NO_TIES) for t in trials))
    assert "tie" in with_ties
    assert set(forced) == {"first", "second"}
    assert all(free in ("tie", choice) for free, choice in zip(with_ties, forced, strict=True))
    silent = read(judge(Dials(sensitivity=0, noise=0)), (request(t, replies=NO_TIES) for t in trials))
    assert share(outcome == "first" for outcome in silent) == near(0.5, n=len(trials))


def test_lapses_and_invalid_replies_come_at_their_rates() -> None:
    trials = [Trial(stimulus=s, order="ab", repeat=r) for s in PAIRS for r in range(3)]
    lapses = read(judge(Dials(sensitivity=0, criterion=50, lapse_rate=0.3)), map(request, trials))
    counts = Counter(lapses)
    assert counts["first"] / len(trials) == near(0.1, n=len(trials))
    assert counts["second"] / len(trials) == near(0.1, n=len(trials))
    invalid = read(judge(Dials(invalid_rate=0.05)), map(request, trials))
    assert share(outcome is None for outcome in invalid) == near(0.05, n=len(trials))


def test_named_observers_are_what_their_names_say() -> None:
    trials = [t for t in STANDARD if not t.stimulus.identical]
    readings = {name: read(judge(dials), map(request, trials)) for name, dials in OBSERVERS.items()}
    assert set(readings["always-tie"]) == {"tie"}
    assert set(readings["never-valid"]) == {None}
    assert share(outcome == "first" for outcome in readings["first-slot"]) > 0.8

    def correct(name: str, arm: str) -> float:
        chosen = [(t, o) for t, o in zip(trials, readings[name], strict=True) if t.stimulus.arm == arm]
        return share(o == ("first" if t.order == "ab" else "second") for t, o in chosen)

    assert correct("length-lover", "prefix") > 0.7
    assert correct("length-lover", "terse_better") < 0.4
    assert correct("filler-hater", "filled_longer") > 0.7
    assert correct("filler-hater", "prefix") < 0.45
    assert min(correct("careful", arm) for arm in ("prefix", "terse_better", "wordy_better", "filled_longer")) > 0.6


def test_strange_texts_are_read_like_any_other() -> None:
    odd = Request(key="k", messages=(("user", "\ud800"),), first="\udfff", second="\x00" * 10, replies=REPLIES)
    empty = SimulatedJudge(Dials(surface=0.5), Lexicon(requirements={}), name="bare")
    assert read(empty, [odd])[0] in REPLIES


def test_a_hundred_thousand_readings_take_seconds() -> None:
    requests = [request(trial) for trial in STANDARD[:1000]]
    fast = judge(OBSERVERS["careful"])
    read(fast, requests)
    started = time.process_time()
    read(fast, (replace(r, repeat=repeat) for repeat in range(5) for r in requests))
    assert time.process_time() - started < 30 / 100_000 * 5000


# Candidates


LABELS: Mapping[Outcome, str] = {"first": "A", "second": "B", "tie": "C"}


def candidates(dials: Dials, *, most: int = 1_000, replies: Mapping[Outcome, str] = LABELS) -> list[Reply]:
    """Replies on the standard design, with so many candidates asked for."""
    observer = judge(dials)
    asked = [replace(request(trial, replies=replies), top_logprobs=most) for trial in STANDARD]

    async def ask_all() -> list[Reply]:
        return [await observer.ask(each) for each in asked]

    return asyncio.run(ask_all())


def spelt(reply: Reply, label: str) -> float:
    return math.fsum(math.exp(share) for token, share in reply.logprobs if token.strip().upper() == label)


def test_candidates_are_listed_only_where_they_are_asked_for() -> None:
    (reply,) = asyncio.run(ask_together(judge(Dials()), request(STANDARD[0], replies=LABELS)))
    assert isinstance(reply, Reply)
    assert reply.logprobs == ()


@pytest.mark.parametrize("dials", [Dials(), Dials(criterion=0.05, readout_scale=2), Dials(readout_scale=0.01)])
def test_the_side_that_has_more_than_half_is_the_verdict(dials: Dials) -> None:
    for reply in candidates(dials):
        sure = [label for label in "AB" if spelt(reply, label) / 0.995 > 0.5]
        assert reply.text == (sure[0] if sure else "C")
        assert math.fsum(math.exp(share) for _, share in reply.logprobs) <= 1


def test_half_the_difference_of_the_logits_is_the_evidence_in_readout_scales() -> None:
    narrow, wide = candidates(Dials(readout_scale=0.5)), candidates(Dials(readout_scale=1.0))

    def evidence(reply: Reply) -> float:
        first, second = (spelt(reply, label) / 0.995 for label in "AB")
        return (math.log(first / (1 - first)) - math.log(second / (1 - second))) / 2

    for one, other in zip(narrow[::50], wide[::50], strict=True):
        assert evidence(one) == pytest.approx(2 * evidence(other), rel=1e-6, abs=1e-9)


def test_the_list_is_cut_at_the_number_asked_for() -> None:
    whole, cut = candidates(OBSERVERS["vacuum-clean"]), candidates(OBSERVERS["vacuum-clean"], most=20)
    assert {len(reply.logprobs) for reply in cut} == {20}
    assert all(short.logprobs == long.logprobs[:20] for short, long in zip(cut, whole, strict=True))
    assert any(not spelt(reply, "B") for reply in cut)
    assert all(spelt(reply, "A") for reply in whole)


def test_replies_that_hold_no_evidence_list_what_they_say() -> None:
    lapsed = candidates(Dials(sensitivity=0, criterion=50, lapse_rate=1))
    assert {reply.text for reply in lapsed} == {"A", "B", "C"}
    assert all(max(reply.logprobs, key=lambda candidate: candidate[1])[0] == reply.text for reply in lapsed)
    silent = candidates(Dials(invalid_rate=1))
    assert all(reply.text.startswith(reply.logprobs[0][0]) for reply in silent)
    assert not any(spelt(reply, label) for reply in silent for label in "ABC")


def test_where_no_tie_is_allowed_none_is_listed() -> None:
    for reply in candidates(Dials(criterion=3), replies={"first": "A", "second": "B"}):
        assert spelt(reply, "A") + spelt(reply, "B") == pytest.approx(0.995)
        assert reply.text == ("A" if spelt(reply, "A") > spelt(reply, "B") else "B")


@pytest.mark.parametrize(
    "dials", [Dials(criterion=1e6), Dials(criterion=0), Dials(sensitivity=1e6, readout_scale=0.001)]
)
def test_extreme_dials_give_finite_candidates(dials: Dials) -> None:
    for reply in candidates(dials):
        assert reply.logprobs
        assert all(math.isfinite(share) for _, share in reply.logprobs)


def test_a_readout_scale_is_above_0() -> None:
    with pytest.raises(UsageError, match="readout_scale"):
        Dials(readout_scale=0)
