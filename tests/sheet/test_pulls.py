"""What moves a judge besides quality, as the characteristics tell it."""

from __future__ import annotations

from typing import Any

from sheet.samples import sample

from datasheet.analysis.ladder import NEEDS_BOTH_ORDERS
from datasheet.readings import Readings
from datasheet.records import CHANNELS, Estimate
from datasheet.sheet.build import characteristic
from datasheet.sheet.pulls import spectrum
from datasheet.sheet.scope import scope_of

UNCLEAR = Estimate.absent("undetermined", "the resolution is not clearly apart from 0, so a ratio to it is unbounded")
NO_CHANNELS = Estimate.absent("not_measured", "needs the channel probe, with doses above 0 (design full)")


def measured(estimate: float, half: float = 0.1) -> Estimate:
    return Estimate(estimate=estimate, low=estimate - half, high=estimate + half, n=100, n_clusters=20, method="m")


def sheet_of(**estimates: Estimate) -> dict[str, Any]:
    """A sheet with these characteristics only; ``__`` in a name stands for @."""
    scope = scope_of(Readings.from_rows([]))
    rows = [characteristic(key.replace("__", "@"), estimate, scope) for key, estimate in estimates.items()]
    return sample("few") | {"characteristics": rows}


def standard(**more: Estimate) -> dict[str, Any]:
    """Position, length and filler in sd and in steps, and no channel."""
    slopes = {"position": measured(0.2), "length_slope": measured(0.5), "filler_slope": measured(1.0)}
    in_steps = {"position_in_steps": measured(0.4), "length_in_steps": measured(1.0), "filler_in_steps": measured(2.0)}
    return sheet_of(**(slopes | in_steps | {"channel_slope": NO_CHANNELS} | more))


def test_position_comes_first_then_length_filler_and_the_channels_with_a_number() -> None:
    in_steps = {f"channel_in_steps__{name}": measured(place / 10) for place, name in enumerate(CHANNELS)}
    found = spectrum(standard(**in_steps))
    assert found is not None
    assert [(pull.name, pull.estimate) for pull in found.pulls] == [
        *(("position", 0.4), ("length", 1.0), ("filler (cost)", 2.0)),
        *((name.replace("_", " "), place / 10) for place, name in enumerate(CHANNELS)),
    ]
    assert (found.unit, found.fallback, found.absences) == ("quality steps", "", ())


def test_without_the_channel_probe_the_channels_are_named_with_what_they_need() -> None:
    found = spectrum(standard())
    assert found is not None
    assert [pull.name for pull in found.pulls] == ["position", "length", "filler (cost)"]
    assert found.absences == (
        ("not measured", "all nuisance channels", "needs the channel probe, with doses above 0 (design full)"),
    )


def test_what_has_no_number_is_named_by_status_and_reason() -> None:
    some = {"channel_in_steps__courtesy": measured(0.3), "channel_in_steps__hedging": UNCLEAR}
    absent = {"position_in_steps": Estimate.absent("not_measured", NEEDS_BOTH_ORDERS)}
    found = spectrum(sheet_of(length_in_steps=measured(1.0), filler_in_steps=UNCLEAR, **absent, **some))
    assert found is not None
    assert [pull.name for pull in found.pulls] == ["length", "courtesy"]
    others = "repetition, format, authority, self identification, injection"
    assert found.absences == (
        ("not measured", "position", NEEDS_BOTH_ORDERS),
        ("undetermined", "filler (cost), hedging", UNCLEAR.reason),
        ("not measured", others, "no reading tells of it"),
    )


def test_without_a_clear_resolution_the_pulls_are_in_sd_and_the_reason_is_told() -> None:
    unclear = dict.fromkeys(("position_in_steps", "length_in_steps", "filler_in_steps"), UNCLEAR)
    found = spectrum(standard(**unclear, channel_slope__format=measured(0.7), channel_in_steps__format=UNCLEAR))
    assert found is not None
    assert (found.unit, found.fallback) == ("sd", UNCLEAR.reason)
    assert [pull.estimate for pull in found.pulls] == [0.2, 0.5, 1.0, 0.7]


def test_a_bound_is_a_pull_with_an_open_side() -> None:
    bound = Estimate(status="bounded", low=3.0, n=100, n_clusters=20, method="m")
    found = spectrum(sheet_of(position=bound, position_in_steps=UNCLEAR))
    assert found is not None
    pull = found.pulls[0]
    assert (pull.low, pull.estimate, pull.high, pull.printed("sd")) == (3.0, None, None, "> 3.000")


def test_there_is_no_spectrum_without_any_number() -> None:
    assert spectrum(sheet_of(position=UNCLEAR, position_in_steps=UNCLEAR, channel_slope=NO_CHANNELS)) is None
    assert spectrum(sheet_of(invalid_rate=measured(0.1))) is None


def test_arms_that_are_no_known_channel_do_not_get_in() -> None:
    found = spectrum(standard(channel_in_steps__bribery=measured(5.0)))
    assert found is not None
    assert [pull.estimate for pull in found.pulls] == [0.4, 1.0, 2.0]


def test_the_sheet_of_a_fit_has_a_spectrum() -> None:
    found = spectrum(sample("few"))
    assert found is not None
    row = next(row for row in sample("few")["characteristics"] if row["key"] == "position_in_steps")
    assert (found.pulls[0].low, found.pulls[0].high) == (row["low"], row["high"])
    assert "filler (cost)" in " ".join(names for _, names, _ in found.absences)
