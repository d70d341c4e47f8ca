"""Adapters that other packages bring, found by the entry points of the group ``judge_datasheet.judges``.

The name of an entry point is the name of the adapter. It stands for a class or a function that is called with
``model`` (what stands after the colon of ``--judge NAME:MODEL``, or the setting), ``connections`` (calls in flight at
most) and the other settings of a ``[judge.…]`` table, and returns a :class:`~datasheet.judge.base.Judge`. Nothing is
imported before a judge of that adapter is made. :mod:`datasheet.testing` holds an adapter against what is expected.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from datasheet.errors import DatasheetError, UsageError
from datasheet.judge.base import Judge
from datasheet.judge.urls import visible

GROUP = "judge_datasheet.judges"


def plugin_adapters() -> dict[str, EntryPoint]:
    """Installed adapters by name; the first one of a name counts, as it does for Python."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        found.setdefault(entry.name, entry)
    return found


def package_of(entry: EntryPoint) -> str:
    """Name of the package that brings an adapter."""
    return entry.dist.name if entry.dist is not None else entry.module


def plugin_judge(adapter: str, options: Mapping[str, Any], *, connections: int) -> Judge:
    """A judge of an installed adapter.

    Raises
    ------
    UsageError
        The adapter can't be imported, does not take the settings, or makes no judge.
    """
    entry = plugin_adapters()[adapter]
    where = f"the adapter {adapter!r} of the package {package_of(entry)}"
    try:
        make = entry.load()
    except Exception as problem:  # a module may raise anything
        raise UsageError(f"{where} can't be imported: {_told(problem)}") from None
    try:
        inspect.signature(make).bind(**options, connections=connections)
    except TypeError as problem:
        raise UsageError(f"{where} does not take these settings: {visible(str(problem))}") from None
    try:
        judge = make(**options, connections=connections)
    except DatasheetError:
        raise
    except Exception as problem:
        raise UsageError(f"{where} failed: {_told(problem)}") from None
    lacking = [name for name in _PARTS if not hasattr(judge, name)]
    if lacking:
        raise UsageError(f"{where} made no judge: it has no {', '.join(lacking)}")
    if judge.adapter != adapter:
        raise UsageError(f"{where} made a judge of the adapter {judge.adapter!r:.80}: the two names are one")
    return cast(Judge, judge)


def _told(problem: Exception) -> str:
    return visible(f"{type(problem).__name__}: {problem}")


_PARTS = ("adapter", "model", "decoding", "simulated", "provenance", "ask", "open", "close")
