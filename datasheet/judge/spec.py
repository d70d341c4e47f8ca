"""A judge as it was named, found and checked, before anything is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from datasheet.judge.prices import Prices


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSpec:
    """What a judge's name stands for.

    Attributes
    ----------
    name
        As the user wrote it, but for what a URL holds besides the server's address: it is shown and stored.
    options
        Checked settings of the adapter.
    origin
        Where the settings come from, for ``judges show``.
    prices
        What its tokens cost; None where the configuration does not say.
    """

    name: str
    adapter: str
    options: Mapping[str, Any]
    origin: str
    prices: Prices | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where settings were written, and whether the user stands behind them."""

    origin: str
    trusted: bool


COMMAND_LINE = Source(origin="command line", trusted=True)
BUILT_IN_SOURCE = Source(origin="built in", trusted=True)
