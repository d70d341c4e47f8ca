"""Verdict log files from reading rows, for tests of the command line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from datasheet.readings import ReadingRow


def verdict_row(row: ReadingRow, **more: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "pair": row.stimulus,
        "order": row.order,
        "verdict": row.outcome,
        "probe": row.probe,
        "arm": row.arm,
        "task": row.task,
        "delta_q": row.delta_q,
        "repeat": row.repeat,
        "invalid": row.invalid,
    }
    return {key: value for key, value in fields.items() if value is not None or key == "verdict"} | more


def write_verdicts(path: Path, rows: Iterable[Mapping[str, Any]], header: Mapping[str, Any] | None = None) -> Path:
    lines = [json.dumps(row) for row in rows]
    if header is not None:
        lines.insert(0, json.dumps({"format": "judge-datasheet-verdicts", "version": 1, **header}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
