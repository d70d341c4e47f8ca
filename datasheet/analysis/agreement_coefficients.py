"""Coefficients of agreement, as functions of sums over items.

Each item adds its features to a sum, and a coefficient is worked out from the sum alone. So the sum without an item, or
without a cluster of items, is a subtraction, and a whole jackknife is one call on stacked sums: all functions here take
leading axes.

A coefficient is (observed - expected) / (1 - expected) with weights of agreement between categories; only what is
expected by chance differs. It is NaN where chance alone would agree always: no coefficient is defined there, and
:mod:`datasheet.analysis.agreement` says so in words.

Sources: Cohen (1960, 1968); Scott (1955); Fleiss (1971); Bennett, Alpert and Goldstein (1954) with Brennan and Prediger
(1981); Gwet (2008, 2014); Krippendorff (2011).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

import numpy as np

from datasheet.analysis.intervals import Numbers

Weighting = Literal["identity", "linear", "quadratic"]
Level = Literal["nominal", "ordinal", "interval"]


class Coefficient(Protocol):
    """From sums over items, with leading axes, and weights, shape (q, q), to values, with those axes."""

    def __call__(self, sums: Numbers, /, weights: Numbers) -> Numbers: ...


def agreement_weights(weighting: Weighting, categories: int) -> Numbers:
    """How far two categories agree, from 1 (the same) to 0, shape (q, q).

    Parameters
    ----------
    categories
        q, as declared beforehand: one that nobody used counts.

    Raises
    ------
    ValueError
        Fewer than two categories, between which nobody can disagree.
    """
    if categories < 2:
        raise ValueError(f"agreement needs two categories or more, found {categories}")
    steps = np.abs(np.subtract.outer(np.arange(categories), np.arange(categories)))
    if weighting == "identity":
        return np.eye(categories)
    share = steps / (categories - 1)
    return np.asarray(1 - (share if weighting == "linear" else share**2))


def observed(table: Numbers, weights: Numbers) -> Numbers:
    """Weighted agreement of two raters, shape (...), from their cross table, shape (..., q, q)."""
    return np.asarray((table * weights).sum((-2, -1)) / table.sum((-2, -1)))


def cohen_kappa(table: Numbers, weights: Numbers) -> Numbers:
    """Cohen's kappa of two raters: by chance each keeps to its own shares."""
    rows, columns = _margins(table)
    return _beyond_chance(observed(table, weights), _expected(rows, columns, weights))


def scott_pi(table: Numbers, weights: Numbers) -> Numbers:
    """Scott's pi of two raters: by chance both keep to the mean of their shares."""
    shares = _mean_shares(table)
    return _beyond_chance(observed(table, weights), _expected(shares, shares, weights))


def gwet_ac(table: Numbers, weights: Numbers) -> Numbers:
    """Gwet's AC1 of two raters (identity weights), or AC2: by chance they agree on items that are hard to rate."""
    return _beyond_chance(observed(table, weights), _expected_of_gwet(_mean_shares(table), weights))


def brennan_prediger(table: Numbers, weights: Numbers) -> Numbers:
    """Brennan and Prediger's coefficient of two raters: by chance every category is as likely."""
    return _beyond_chance(observed(table, weights), np.asarray(weights.mean()))


TWO_RATERS: Mapping[str, Coefficient] = {
    "kappa": cohen_kappa,
    "scott_pi": scott_pi,
    "gwet_ac": gwet_ac,
    "brennan_prediger": brennan_prediger,
}


def item_features(counts: Numbers, weights: Numbers) -> Numbers:
    """What an item that several people rated adds to the sums behind ``several_*``, shape (..., q + 3).

    Parameters
    ----------
    counts
        Ratings of the item in each category, shape (..., q). An item with one rating says how common its category is,
        and nothing of agreement; one with none says nothing.
    """
    raters = counts.sum(-1)
    pairs = raters * (raters - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        agreeing = ((counts * (counts @ weights)).sum(-1) - raters) / pairs
        shares = counts / raters[..., None]
    rated, compared = raters > 0, pairs > 0
    return np.concatenate(
        [
            np.where(rated[..., None], shares, 0.0),
            np.stack([rated, compared, np.where(compared, agreeing, 0.0)], axis=-1),
        ],
        axis=-1,
    )


def several_observed(features: Numbers) -> Numbers:
    """Mean over items of the share of pairs of ratings that agree, shape (...), from summed :func:`item_features`."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(features[..., -1] / features[..., -2])


def several_gwet_ac(features: Numbers, weights: Numbers) -> Numbers:
    """Gwet's AC1 or AC2 of several raters, gaps allowed."""
    return _beyond_chance(several_observed(features), _expected_of_gwet(_shares(features), weights))


def several_fleiss(features: Numbers, weights: Numbers) -> Numbers:
    """Fleiss's generalised pi of several raters, gaps allowed."""
    shares = _shares(features)
    return _beyond_chance(several_observed(features), _expected(shares, shares, weights))


def several_brennan_prediger(features: Numbers, weights: Numbers) -> Numbers:
    """Brennan and Prediger's coefficient of several raters, gaps allowed (Randolph's free-marginal kappa)."""
    return _beyond_chance(several_observed(features), np.asarray(weights.mean()))


SEVERAL_RATERS: Mapping[str, Coefficient] = {
    "fleiss_kappa": several_fleiss,
    "gwet_ac": several_gwet_ac,
    "brennan_prediger": several_brennan_prediger,
}


def coincidences(counts: Numbers) -> Numbers:
    """What an item adds to Krippendorff's table of coincidences, shape (..., q, q).

    Parameters
    ----------
    counts
        Ratings of the item in each category, shape (..., q); one rating alone can't coincide and adds nothing.
    """
    others = counts.sum(-1) - 1
    pairs = counts[..., :, None] * counts[..., None, :] - counts[..., :, None] * np.eye(counts.shape[-1])
    return np.asarray(pairs / np.where(others > 0, others, np.inf)[..., None, None])


def krippendorff_alpha(table: Numbers, level: Level) -> Numbers:
    """Krippendorff's alpha, shape (...), from summed :func:`coincidences`, shape (..., q, q).

    Categories are one step apart at the interval level.
    """
    totals = table.sum(-1)
    distance = _distances(totals, level)
    pairs = totals[..., :, None] * totals[..., None, :]
    expected = (pairs * distance).sum((-2, -1)) / (totals.sum(-1) - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(expected > 0, 1 - (table * distance).sum((-2, -1)) / expected, np.nan))


def _distances(totals: Numbers, level: Level) -> Numbers:
    """Squared distances between categories, shape (q, q), or (..., q, q) at the ordinal level."""
    categories = totals.shape[-1]
    if level == "nominal":
        return 1 - np.eye(categories)
    if level == "interval":
        return np.asarray(np.subtract.outer(np.arange(categories), np.arange(categories)) ** 2.0)
    middle = np.cumsum(totals, axis=-1) - totals / 2  # ratings below a category, and half of those in it
    return np.asarray((middle[..., :, None] - middle[..., None, :]) ** 2)


def _margins(table: Numbers) -> tuple[Numbers, Numbers]:
    total = table.sum((-2, -1))[..., None]
    return np.asarray(table.sum(-1) / total), np.asarray(table.sum(-2) / total)


def _mean_shares(table: Numbers) -> Numbers:
    rows, columns = _margins(table)
    return np.asarray((rows + columns) / 2)


def _shares(features: Numbers) -> Numbers:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(features[..., :-3] / features[..., -3, None])


def _expected(rows: Numbers, columns: Numbers, weights: Numbers) -> Numbers:
    return np.asarray(((rows @ weights) * columns).sum(-1))


def _expected_of_gwet(shares: Numbers, weights: Numbers) -> Numbers:
    categories = len(weights)
    return np.asarray(weights.sum() / (categories * (categories - 1)) * (shares * (1 - shares)).sum(-1))


_ALWAYS = 1e-12


def _beyond_chance(agreement: Numbers, expected: Numbers) -> Numbers:
    room = 1 - expected
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(room > _ALWAYS, (agreement - expected) / room, np.nan))
