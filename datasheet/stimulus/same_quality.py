"""Same-quality pairs: two different answers that meet equally many requirements."""

from __future__ import annotations

from datasheet.records import Stimulus
from datasheet.stimulus.bank import N_REQUIREMENTS
from datasheet.stimulus.chain import Chain

SAME_QUALITY_ARMS = ("same_subset", "different_subset")


def same_subset(chain: Chain, level: int) -> Stimulus:
    """The same requirements in other words; at level 0 the two openings alone."""
    other = chain.answer(level, phrasing="plain_alt", opening=1)
    return chain.stimulus("same_quality", "same_subset", chain.answer(level), other, levels=(level, level))


def different_subset(chain: Chain, level: int) -> Stimulus:
    """The first requirements of the chain against as many of its last: neither answer dominates the other.

    Raises
    ------
    ValueError
        The level is not between 0 and the number of requirements, so that no two subsets differ.
    """
    if not 0 < level < N_REQUIREMENTS:
        raise ValueError(f"no two different subsets of {level} requirements out of {N_REQUIREMENTS} are compared")
    last = chain.compose(chain.requirements[-level:])
    return chain.stimulus("same_quality", "different_subset", chain.answer(level), last, levels=(level, level))
