"""The catalogue: from what a user writes after ``--judge`` to a judge that can be asked."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from datasheet.config import Config
from datasheet.errors import UsageError
from datasheet.judge.anthropic import AnthropicJudge
from datasheet.judge.base import Judge
from datasheet.judge.command import CommandJudge
from datasheet.judge.local import LocalJudge
from datasheet.judge.openai import OpenAIJudge
from datasheet.judge.plugins import plugin_adapters, plugin_judge
from datasheet.judge.prices import Prices
from datasheet.judge.python import PythonJudge
from datasheet.judge.served import APIS, public, served_spec, spelled_settings
from datasheet.judge.settings import COMMAND, LOCAL, PYTHON, SIMULATED, Setting, check_settings
from datasheet.judge.simulated import OBSERVERS, Dials, SimulatedJudge, observer
from datasheet.judge.spec import BUILT_IN_SOURCE, COMMAND_LINE, JudgeSpec, Source
from datasheet.judge.tls import Tls
from datasheet.records import Lexicon

DEFAULT_JUDGE = "sim:careful"

BUILT_IN: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "qwen32b": {"adapter": "openai", "model": "Qwen/Qwen2.5-32B-Instruct", "json_mode": "json_schema"},
        "qwen14b": {"adapter": "openai", "model": "Qwen/Qwen2.5-14B-Instruct", "json_mode": "json_schema"},
        "llama8b": {"adapter": "openai", "model": "meta-llama/Llama-3.1-8B-Instruct", "json_mode": "json_schema"},
        "smollm2": {
            "adapter": "openai",
            "model": "SmolLM2-135M-Instruct",
            "url": "http://127.0.0.1:8135/v1",
            "json_mode": "json_object",
            "seed": 0,
            "start_hint": "start it with `sh tests/real/serve.sh --background`",
        },
    }
)

SPELLINGS: Mapping[str, str] = MappingProxyType(
    {
        "openai": "openai:MODEL@URL",
        "anthropic": "anthropic:MODEL",
        "local": "local:FILE",
        "python": "python:MODULE:FUNCTION",
        "command": "command:PROGRAM ARGUMENTS",
        "replay": "replay:LOG",
        "sim": "sim:NAME",
    }
)
"""How a judge of each adapter is written out after ``--judge``."""

# What stands after the colon, or the one setting that a judge of such an adapter can't be without.
_NEEDED: Mapping[str, tuple[str, Mapping[str, Setting]]] = {
    "python": ("function", PYTHON),
    "command": ("command", COMMAND),
    "local": ("file", LOCAL),
}
_DIALS = tuple(item.name for item in fields(Dials))


def find_judge(name: str, config: Config, environment: Mapping[str, str] | None = None) -> JudgeSpec:
    """The judge of a configured name, a catalogue name or a spec such as ``openai:MODEL@URL``.

    Raises
    ------
    UsageError
        No such judge, a setting that does not exist, or a key that may not go to that host.
    """
    environment = os.environ if environment is None else environment
    entry = config.judge(name)
    if entry is not None:
        settings, where = dict(entry.settings), f"{entry.layer.path} [judge.{entry.name}]"
        source = Source(origin=where, trusted=entry.layer.trusted)
        prices = Prices.from_settings(settings.pop("prices"), where) if "prices" in settings else None
        spec = _of_adapter(settings.pop("adapter"), name, settings, source, config, environment)
        return replace(spec, prices=prices)
    if name in BUILT_IN:
        settings = dict(BUILT_IN[name])
        return _of_adapter(settings.pop("adapter"), name, settings, BUILT_IN_SOURCE, config, environment)
    adapter, _, rest = name.partition(":")
    if adapter == "sim" and name != adapter:
        options = {"dials": observer(rest), "seed": 0}
        return JudgeSpec(name=name, adapter=adapter, options=options, origin=BUILT_IN_SOURCE.origin)
    if not rest:
        raise UsageError(_unknown(name, config))
    if adapter == "replay":
        return JudgeSpec(name=name, adapter=adapter, options={"log": rest}, origin=COMMAND_LINE.origin)
    if adapter in APIS:
        name, settings = spelled_settings(adapter, rest)
    elif adapter in _NEEDED:
        settings = {_NEEDED[adapter][0]: rest}
    elif adapter in plugin_adapters():
        settings = {"model": rest}
    else:
        raise UsageError(_unknown(name, config))
    return _of_adapter(adapter, name, settings, COMMAND_LINE, config, environment)


def _of_adapter(
    adapter: str,
    name: str,
    settings: dict[str, Any],
    source: Source,
    config: Config,
    environment: Mapping[str, str],
) -> JudgeSpec:
    if adapter in APIS:
        return served_spec(APIS[adapter], name, settings, source, config, environment)
    if adapter == "sim":
        return _simulated(name, settings, source)
    if adapter in _NEEDED:
        return _executed(adapter, name, settings, source)
    plugins = plugin_adapters()
    if adapter in plugins:
        return JudgeSpec(name=name, adapter=adapter, options=settings, origin=source.origin)
    known = [*APIS, *_NEEDED, "sim", *plugins]
    raise UsageError(f"{source.origin}: no adapter {adapter!r:.80}: choose one of {', '.join(known)}")


def _simulated(name: str, settings: Mapping[str, Any], source: Source) -> JudgeSpec:
    check_settings(settings, SIMULATED, source.origin)
    try:
        dials = replace(
            observer(settings.get("observer", "careful")),
            **{dial: settings[dial] for dial in _DIALS if dial in settings},
        )
    except UsageError as problem:
        raise UsageError(f"{source.origin}: {problem}") from None
    options = {"dials": dials, "seed": settings.get("seed", 0)}
    return JudgeSpec(name=name, adapter="sim", options=options, origin=source.origin)


def _executed(adapter: str, name: str, settings: dict[str, Any], source: Source) -> JudgeSpec:
    """A judge that runs code or loads a file of the user's choice."""
    needed, known = _NEEDED[adapter]
    check_settings(settings, known, source.origin)
    if needed not in settings:
        raise UsageError(f"{source.origin}: judge {name!r} needs {needed}: {known[needed].wish}")
    if adapter == "command" and isinstance(settings["command"], str):
        settings["command"] = _split(settings["command"], source)
    if adapter == "python" and source is COMMAND_LINE:
        settings["search_folder"] = "."
    return JudgeSpec(name=name, adapter=adapter, options=settings, origin=source.origin)


def _split(command: str, source: Source) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as problem:
        raise UsageError(
            f"{source.origin}: the command can't be split into words ({problem}): {command!r:.80}"
        ) from None


def _unknown(name: str, config: Config) -> str:
    configured = config.judge_names()
    own = f"; in your datasheet.toml: {', '.join(configured)}" if configured else ""
    forms = {**SPELLINGS, **{adapter: f"{adapter}:MODEL" for adapter in plugin_adapters()}}
    adapter = name.partition(":")[0]
    meant = get_close_matches(adapter, [*forms, *BUILT_IN, *configured], n=1)
    hint = f" (did you mean {meant[0]}?)" if meant and meant[0] != adapter else ""
    return (
        f"no judge {public(name)!r}{hint}: name one of {', '.join(BUILT_IN)}{own}; or write "
        f"{', '.join(forms.values())} ({', '.join(OBSERVERS)})"
    )


def make_judge(spec: JudgeSpec, *, lexicon: Lexicon, connections: int) -> Judge:
    """The judge of a spec, ready to be opened; a replay judge is made from its log instead.

    Raises
    ------
    UsageError
        A setting that the adapter can't use.
    """
    options = dict(spec.options)
    if spec.adapter == "sim":
        name = spec.name.removeprefix("sim:")
        return SimulatedJudge(options["dials"], lexicon, name=name, seed=options["seed"])
    if spec.adapter == "local":
        return LocalJudge(**options)
    try:
        if spec.adapter not in _MAKERS:
            return plugin_judge(spec.adapter, options, connections=connections)
        if "tls" in options:
            options["tls"] = Tls(**options["tls"])
        return _MAKERS[spec.adapter](**options, connections=connections)
    except UsageError as problem:
        raise UsageError(f"{spec.origin}: {problem}") from None


_MAKERS: Mapping[str, Callable[..., Judge]] = {
    "openai": OpenAIJudge,
    "anthropic": AnthropicJudge,
    "python": PythonJudge,
    "command": CommandJudge,
}
