"""The datasheet as a file: written in one fixed form, and checked against its schema when it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from datasheet.errors import DatasheetError, UsageError
from datasheet.resources import templates_folder
from datasheet.strict_json import decode

MOST_BYTES = 200_000_000
_FAULT_LENGTH = 300
_TABLES = ("readings", "unstable")


@cache
def datasheet_schema() -> dict[str, Any]:
    """The JSON Schema of a datasheet."""
    path = templates_folder() / "schemas" / "datasheet.schema.json"
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema


def dump_sheet(sheet: Mapping[str, Any]) -> bytes:
    """A datasheet as JSON in UTF-8, the same bytes for the same content.

    Readable in a text editor: indented, but each column of the tables on a line of its own.
    """
    parts = []
    for key, value in sheet.items():
        if key in _TABLES:
            columns = (f"    {_dumps(name)}: {_dumps(column)}" for name, column in value.items())
            text = "{\n" + ",\n".join(columns) + "\n  }"
        else:
            text = _dumps(value, indent=2).replace("\n", "\n  ")
        parts.append(f"  {_dumps(key)}: {text}")
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode("utf-8")


def _dumps(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, allow_nan=False)


def load_sheet(content: bytes, name: str) -> dict[str, Any]:
    """A datasheet from its JSON, checked against the schema.

    Parameters
    ----------
    name
        The file's name, for messages.

    Raises
    ------
    UsageError
        Not a datasheet, or not one that this release reads.
    """
    if len(content) > MOST_BYTES:
        raise UsageError(f"{name} is larger than {MOST_BYTES:,} bytes, which no datasheet is")
    try:
        sheet = decode(content.decode("utf-8"))
    except ValueError as problem:
        raise UsageError(f"{name} is not the JSON of a datasheet: {problem}") from None
    if not isinstance(sheet, dict) or sheet.get("format") != "judge-datasheet":
        raise UsageError(f'{name} is JSON, but not a datasheet: expected an object with format "judge-datasheet"')
    if sheet.get("version") != 1:
        raise UsageError(f"{name}: this release reads version 1 of the datasheet, found {sheet.get('version')!r:.20}")
    fault = best_match(Draft202012Validator(datasheet_schema()).iter_errors(sheet))
    if fault is not None:
        place = "/".join(str(part) for part in fault.absolute_path) or "top level"
        raise UsageError(f"{name} breaks the schema of a datasheet at {place}: {fault.message[:_FAULT_LENGTH]}")
    return sheet


def check_sheet(sheet: Mapping[str, Any]) -> None:
    """Hold a sheet that this program built against its own schema before it is written.

    Raises
    ------
    DatasheetError
        It does not conform, which is a fault of this program.
    """
    fault = best_match(Draft202012Validator(datasheet_schema()).iter_errors(dict(sheet)))
    if fault is not None:
        place = "/".join(str(part) for part in fault.absolute_path)
        raise DatasheetError(f"the datasheet breaks its own schema at {place}: {fault.message[:_FAULT_LENGTH]}")
