"""What tells one run from another: the fields of an instrument, held against each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

IDENTITY = ("judge_id", "bank_hash")
PLAN = ("design", "seed", "repeats", "simulated")
_SHOWN_CHARACTERS = 200  # of a differing field in an error; a whole prompt would hide the advice


def same(first: Mapping[str, str], second: Mapping[str, str], fields: Iterable[str]) -> bool:
    """Whether two instruments agree in these fields."""
    return all(first.get(field) == second.get(field) for field in fields)


def differences(
    first: Mapping[str, str], second: Mapping[str, str], *, where: tuple[str, str] = ("in the log", "now")
) -> list[str]:
    """A line for each field in which two instruments differ; ``where`` says which is which."""
    lines = []
    for field in sorted({*first, *second}):
        there, here = first.get(field), second.get(field)
        if there == here:
            continue
        shown = len(there or "") + len(here or "") < _SHOWN_CHARACTERS
        lines.append(f"  {field}: " + (f"{there!r} {where[0]}, {here!r} {where[1]}" if shown else "another one"))
    return lines
