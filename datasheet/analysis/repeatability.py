"""Repeatability: do fresh calls on the same presentation give the same verdict, and what does call noise alone do?

Everything here rests on how often each presentation (a stimulus in an order) was read as first, tie and second. A
presentation with one valid reading tells nothing and is left out; invalid readings are missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from datasheet.analysis.bivariate import bvn_cdf
from datasheet.analysis.intervals import ClusteredShare, Numbers, clustered_share
from datasheet.analysis.presentations import LEAST_DESIGN_EFFECT_OF_SCORES, cluster_sums, clusters, share_of
from datasheet.analysis.swap_pairs import SwapPairs
from datasheet.readings import Codes, Mask, Readings
from datasheet.records import OUTCOMES, Estimate

_SLOTS = np.array([1, 0, -1], dtype=np.int32)
"""Slot reading (+1 first, 0 tie, -1 second) of each outcome code."""
_LARGEST_VARIANCE = 2.0
"""Unbiased variance of the slot readings +1 and -1."""
_NEARLY_ONE = 1 - 1e-9
_BISECTIONS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repeated:
    """Presentations with two valid readings or more, one element (or row) each.

    ``place`` is that of a reading of theirs; ``tallies`` counts first, tie and second, shape (P, 3), and ``calls`` is
    their sum.
    """

    place: npt.NDArray[np.intp]
    stimulus: Codes
    cluster: Codes
    tallies: npt.NDArray[np.int64]

    @property
    def unanimous(self) -> Mask:
        return np.asarray(self.tallies.max(axis=1, initial=0) == self.calls)

    @property
    def calls(self) -> npt.NDArray[np.int64]:
        return np.asarray(self.tallies.sum(axis=1))

    @property
    def agreement(self) -> Numbers:
        """Chance that two different readings of the presentation agree, shape (P,)."""
        possible = self.calls * (self.calls - 1)
        return np.asarray((self.tallies * (self.tallies - 1)).sum(axis=1) / possible)

    def share(self, event: npt.NDArray[np.float64] | npt.NDArray[np.bool_]) -> ClusteredShare | None:
        """Mean over presentations, each weighing 1 however often it was repeated."""
        return share_of(event, np.ones(len(self.calls)), self.cluster)

    def mean(self, scores: Numbers) -> ClusteredShare | None:
        """The same of scores in [0, 1], which may vary far less than a share does."""
        if not scores.size:
            return None
        sizes, successes = (cluster_sums(weights, self.cluster) for weights in (np.ones(len(scores)), scores))
        return clustered_share(successes, sizes, least_design_effect=LEAST_DESIGN_EFFECT_OF_SCORES)


def _repeated(readings: Readings) -> _Repeated:
    valid = readings.where(readings.valid)
    presentation = valid.stimulus.astype(np.int64) * 2 + valid.order
    _, first, position = np.unique(presentation, return_index=True, return_inverse=True)
    tallies = np.bincount(position * len(OUTCOMES) + valid.outcome, minlength=len(first) * len(OUTCOMES))
    tallies = tallies.reshape(-1, len(OUTCOMES))
    kept = tallies.sum(axis=1) > 1
    at = first[kept]
    return _Repeated(
        place=np.flatnonzero(readings.valid)[at],
        stimulus=valid.stimulus[at],
        cluster=clusters(valid)[at],
        tallies=tallies[kept],
    )


def self_consistency(readings: Readings) -> ClusteredShare | None:
    """Mean over repeated presentations of the chance that two of their readings agree.

    A presentation counts once, however often it was repeated; invalid readings are left out. None where no presentation
    has two valid readings.
    """
    repeated = _repeated(readings)
    return repeated.share(repeated.agreement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unstable:
    """Repeated presentations whose valid readings are not unanimous, one element (or row) each.

    The most unstable come first: by the chance that two of their readings agree, then by stimulus and order.

    Attributes
    ----------
    shown
        A reading of each, which tells what was shown.
    tallies
        Counts of first, tie and second, shape (U, 3).
    """

    shown: Readings
    tallies: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.shown)


def unstable_presentations(readings: Readings) -> Unstable:
    """The presentations that a person should look at first; those without repeats can't be among them."""
    repeated = _repeated(readings)
    unstable = np.flatnonzero(~repeated.unanimous)
    # Presentations are numbered by stimulus and order, which a stable sort keeps.
    unstable = unstable[np.argsort(repeated.agreement[unstable], kind="stable")]
    return Unstable(shown=readings.where(repeated.place[unstable]), tallies=repeated.tallies[unstable])


def unstable_share(readings: Readings) -> ClusteredShare | None:
    """Share of repeated presentations whose valid readings are not unanimous; None without repeats.

    It grows with the number of repeats, unlike :func:`self_consistency`: compare it at the same number only.
    """
    repeated = _repeated(readings)
    return repeated.share(~repeated.unanimous)


def within_stimulus_variance(readings: Readings) -> Estimate | None:
    """Mean over repeated presentations of the unbiased variance of their slot readings (+1, 0, -1); in [0, 2].

    Half of it is the mean of (x - x')²/4 over pairs of calls, a score in [0, 1], which gives it the limits of a share:
    where no call ever differs, the upper one still says what was not ruled out. None without repeats.
    """
    repeated = _repeated(readings)
    calls = repeated.calls
    squares = repeated.tallies @ _SLOTS**2 - (repeated.tallies @ _SLOTS) ** 2 / calls
    halved = repeated.mean(squares / (calls - 1) / _LARGEST_VARIANCE)
    if halved is None:
        return None
    limits = halved.interval()
    low, high = (None, None) if limits is None else (_LARGEST_VARIANCE * limits[0], _LARGEST_VARIANCE * limits[1])
    return replace(halved.estimate(), estimate=_LARGEST_VARIANCE * halved.share, low=low, high=high)


def call_noise_share(readings: Readings) -> Estimate | None:
    """Share of the variance of evidence between answers of equal quality that comes anew with each call: 1 - ρ.

    Here ρ is the correlation of the evidence of two calls on one presentation. It is the one at which two normal
    variables, cut where the first-slot and second-slot shares of all these readings say, fall apart as often as the
    calls did. Its limits are those of the self-consistency, which are wide enough to leave room for the cuts being
    taken as known: in simulation at 20 pairs of 20 tasks, read three times in each order, they cover .98 and more. The
    ρ of two *orders* is at most this one: what stays over calls but not over orders is stable, yet no preference for
    content.

    Returns
    -------
    None without repeated presentations of equal quality; undetermined where all readings are alike, since a judge that
    always says the same shows no noise however much there is.
    """
    repeated = _repeated(readings.of_probe("same_quality"))
    consistency = repeated.share(repeated.agreement)
    if consistency is None:
        return None
    shares = (repeated.tallies / repeated.calls[:, None]).mean(axis=0)
    if shares.max() == 1:
        return Estimate.absent("undetermined", "all repeated readings are alike, so noise could not show")
    limits = consistency.interval()
    low, high = (None, None) if limits is None else (_noise_at(limits[1], shares), _noise_at(limits[0], shares))
    return replace(
        consistency.estimate(),
        estimate=_noise_at(consistency.share, shares),
        low=low,
        high=high,
        method=f"test-retest correlation; {consistency.method}",
    )


def _noise_at(agreement: float, shares: Numbers) -> float:
    """1 - ρ at which two calls agree that often; rises as agreement falls, and is 1 where chance alone does better."""
    quiet, noisy = 1 - _NEARLY_ONE, 1.0
    if agreement >= 1:
        return 0.0
    if agreement <= _agreement(0.0, shares):
        return 1.0
    for _ in range(_BISECTIONS):
        middle = (quiet + noisy) / 2
        quiet, noisy = (middle, noisy) if _agreement(1 - middle, shares) > agreement else (quiet, middle)
    return (quiet + noisy) / 2


def _agreement(rho: float, shares: Numbers) -> float:
    """Chance that two calls agree when their evidence correlates by ρ; ``shares`` are first, tie and second."""
    cuts = ndtri(np.clip([shares[2], shares[2] + shares[1]], 1e-12, 1 - 1e-12))
    low_low, low_high, high_high = (
        float(bvn_cdf(np.asarray(h), np.asarray(q), rho))
        for h, q in ((cuts[0], cuts[0]), (cuts[0], cuts[1]), (cuts[1], cuts[1]))
    )
    first = 1 - 2 * float(ndtr(cuts[1])) + high_high
    tie = high_high - 2 * low_high + low_low
    return low_low + tie + first


def repeats_as_swaps(readings: Readings) -> SwapPairs:
    """Pairs of calls on one presentation, taken as if the order had changed between them and changed nothing.

    The second reading is turned over, as the same verdict on the same content would be in the other order. So the
    shares are those that the decomposition would have if a swap did nothing at all: stable cross-sensitivity where both
    calls prefer the same, and as positional false preference the contradictions that call noise alone gives. Each
    element is a kind of pair, weighted by how many of the stimulus's pairs of calls are of it.
    """
    repeated = _repeated(readings)
    tallies, calls = repeated.tallies, repeated.calls
    pairs = tallies[:, :, None] * tallies[:, None, :] - tallies[:, :, None] * np.eye(len(OUTCOMES), dtype=np.int64)
    _, which, presentations = np.unique(repeated.stimulus, return_inverse=True, return_counts=True)
    weights = pairs / (calls * (calls - 1) * presentations[which])[:, None, None]
    at, one, other = np.nonzero(pairs)
    stimulus = repeated.stimulus[at]
    first_complete = np.zeros(len(at), dtype=bool)
    first_complete[np.unique(stimulus, return_index=True)[1]] = True
    everywhere = np.ones(len(at), dtype=bool)
    return SwapPairs(
        stimulus=stimulus,
        cluster=repeated.cluster[at],
        slot_ab=_SLOTS[one],
        slot_ba=-_SLOTS[other],
        valid_ab=everywhere,
        valid_ba=everywhere,
        weight=weights[at, one, other],
        first_complete=first_complete,
    )
