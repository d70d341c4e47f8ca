"""What each setting of a judge may be: checked where it was written, before anything is opened."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from datasheet.errors import UsageError
from datasheet.identity import canonical_json
from datasheet.judge.simulated import OBSERVERS, Dials

_MOST_WHOLE = 2**53 - 1  # what every JSON reader takes as a whole number
_LONGEST_TEXT = 2_000
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_FUNCTION = re.compile(r"[^\W\d]\w{0,99}(?:\.[^\W\d]\w{0,99}){0,20}:[^\W\d]\w{0,99}(?:\.[^\W\d]\w{0,99}){0,20}")
_MOST_JSON_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a value should be, in words and as a test; ``secret`` where a wrong one may be a key and is not shown."""

    wish: str
    fits: Callable[[Any], bool]
    secret: bool = False


def _whole(low: int, high: int = _MOST_WHOLE) -> Setting:
    return Setting(
        wish=f"a whole number from {low} to {high}", fits=lambda value: type(value) is int and low <= value <= high
    )


def is_number(value: object, low: float, high: float) -> bool:
    """Whether a value is a number (true and false are none) within finite bounds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _number(low: float, high: float) -> Setting:
    return Setting(wish=f"a number from {low:g} to {high:g}", fits=lambda value: is_number(value, low, high))


def is_line(value: object) -> bool:
    """Whether a value is a text of one line that holds something, and nothing but printable characters."""
    return isinstance(value, str) and bool(value.strip()) and len(value) <= _LONGEST_TEXT and value.isprintable()


def _one_of(*values: str) -> Setting:
    return Setting(wish=f"one of {', '.join(values)}", fits=lambda value: isinstance(value, str) and value in values)


def _is_json_table(value: object) -> bool:
    try:
        return isinstance(value, dict) and len(canonical_json(value)) <= _MOST_JSON_CHARACTERS
    except (TypeError, ValueError, RecursionError):
        return False


_TIMEOUT = _number(0.001, 86_400)
_LINE = Setting(wish="a text of one line, without control characters", fits=is_line)

_HEADER_TABLE = Setting(
    wish="a table of header names and their texts, none of them a key",
    fits=lambda value: isinstance(value, dict) and all(isinstance(text, str) for text in value.values()),
    secret=True,
)


def _is_tls_table(value: object) -> bool:
    files = {"ca_file", "certificate", "key"}
    return isinstance(value, dict) and all(
        is_line(given) if name in files else name == "verify" and isinstance(given, bool)
        for name, given in value.items()
    )


_SERVED: Mapping[str, Setting] = {
    "model": _LINE,
    "url": Setting(wish="a URL such as http://127.0.0.1:8000/v1, as text", fits=is_line, secret=True),
    "api_key_env": Setting(
        wish="the name of an environment variable (letters, digits and _) that holds the key, never the key itself",
        fits=lambda value: isinstance(value, str) and _VARIABLE.fullmatch(value) is not None,
        secret=True,
    ),
    "key_header": _LINE,
    "headers": _HEADER_TABLE,
    "tls": Setting(
        wish="a table of any of ca_file, certificate and key (files in PEM), and verify (true or false)",
        fits=_is_tls_table,
    ),
    "temperature": Setting(
        wish='a number from 0 to 100, or "unset"', fits=lambda value: value == "unset" or is_number(value, 0, 100)
    ),
    "max_tokens": _whole(1, 1_000_000),
    "timeout_s": _TIMEOUT,
    "extra_body": Setting(wish="a table of JSON values", fits=_is_json_table, secret=True),
    "start_hint": _LINE,
}
OPENAI: Mapping[str, Setting] = MappingProxyType(
    {
        **_SERVED,
        "seed": _whole(0),
        "max_tokens_field": _one_of("max_tokens", "max_completion_tokens"),
        "json_mode": _one_of("off", "json_object", "json_schema"),
        "logprobs": _whole(0, 1_000),
        "system_role": _one_of("system", "merge"),
    }
)
ANTHROPIC: Mapping[str, Setting] = MappingProxyType(_SERVED)
_OPTIONS = Setting(wish="a table of JSON values", fits=_is_json_table)
PYTHON: Mapping[str, Setting] = MappingProxyType(
    {
        "function": Setting(
            wish="a function as MODULE:NAME, such as my_package.judges:compare",
            fits=lambda value: isinstance(value, str) and _FUNCTION.fullmatch(value) is not None,
        ),
        "model": _LINE,
        "options": _OPTIONS,
        "timeout_s": _TIMEOUT,
    }
)
COMMAND: Mapping[str, Setting] = MappingProxyType(
    {
        "command": Setting(
            wish="a program and its arguments, as one text or as a list of texts",
            fits=lambda value: (
                is_line(value)
                or (isinstance(value, list) and bool(value) and all(isinstance(part, str) for part in value))
            ),
        ),
        "model": _LINE,
        "options": _OPTIONS,
        "timeout_s": _TIMEOUT,
    }
)
LOCAL: Mapping[str, Setting] = MappingProxyType(
    {
        "file": Setting(wish="the path of a model file (GGUF)", fits=is_line),
        "model": _LINE,
        "temperature": _number(0, 100),
        "seed": _whole(0),
        "max_tokens": _whole(1, 1_000_000),
        "json_mode": _one_of("off", "json_object"),
        "context_tokens": _whole(128, 10_000_000),
        "load_options": _OPTIONS,
    }
)
SIMULATED: Mapping[str, Setting] = MappingProxyType(
    {
        "observer": _one_of(*OBSERVERS),
        "seed": _whole(0),
        **{dial.name: _number(-1e6, 1e6) for dial in fields(Dials)},
    }
)


def check_settings(settings: Mapping[str, Any], known: Mapping[str, Setting], where: str) -> None:
    """Hold settings against their table.

    Raises
    ------
    UsageError
        A setting that does not exist, or a value that it can't have.
    """
    for name, value in settings.items():
        if name not in known:
            raise UsageError(f"{where}: no setting {name!r:.80}: the settings are {', '.join(known)}")
        if not known[name].fits(value):
            found = type(value).__name__ if known[name].secret else f"{value!r:.60}"
            raise UsageError(f"{where}: {name} should be {known[name].wish}; found {found}")
