"""The sheet that another one takes the place of: a folder holds one, and what is lost from sight is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datasheet.files import read_limited
from datasheet.sheet.schema import MOST_BYTES
from datasheet.strict_json import decode

_IDENTITY = ("name", "judge_id", "prompt")
_LONGEST_NAME = 80


def replaced_sheet(path: Path, sheet: Mapping[str, Any]) -> str:
    """What sheet a file holds, where it is of another judge or of more readings than the one to come.

    "" where it is neither, or no sheet that can be read.
    """
    try:
        held = decode(read_limited(path, MOST_BYTES).decode("utf-8"))
        others, design, command = held["judge"], held["design"].get("name"), held["provenance"]["command"]
        n_held, n_now = len(held["readings"]["stimulus"]), len(sheet["readings"]["stimulus"])
        same = all(others[name] == sheet["judge"][name] for name in _IDENTITY)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""
    if same and n_held <= n_now:
        return ""
    who = "" if same else f" of {others['name']!s:.{_LONGEST_NAME}}"
    return (
        f"the sheet{who} that was here (design {design!s:.{_LONGEST_NAME}}, {n_held:,} readings) is replaced by one of "
        f"{n_now:,}; to have it again, run with the same --out: {command!s:.500}"
    )
