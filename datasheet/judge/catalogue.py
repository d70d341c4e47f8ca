"""The catalogue: from what a user writes after ``--judge`` to a judge that can be asked."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from datasheet.config import Config, JudgeEntry
from datasheet.errors import UsageError
from datasheet.judge.base import Judge
from datasheet.judge.openai import OpenAIJudge
from datasheet.judge.simulated import OBSERVERS, Dials, SimulatedJudge, observer
from datasheet.records import Lexicon

DEFAULT_JUDGE = "sim:careful"
LOCAL_URL = "http://127.0.0.1:8000/v1"
"""The port that a local vLLM server listens on by default."""

URL_VARIABLE = "OPENAI_BASE_URL"
KEY_VARIABLE = "OPENAI_API_KEY"

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

_OPENAI_OPTIONS = tuple(
    name for name in inspect.signature(OpenAIJudge).parameters if name not in ("base_url", "connections")
)
_DIALS = tuple(item.name for item in fields(Dials))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSpec:
    """A judge as it was named, found and checked, before anything is opened.

    Attributes
    ----------
    name
        As the user wrote it.
    target
        The log of a ``replay`` judge; "" elsewhere.
    options
        Checked settings of the adapter.
    origin
        Where the settings come from, for ``judges show``.
    """

    name: str
    adapter: str
    target: str
    options: Mapping[str, Any]
    origin: str


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
        return _configured(entry, config, environment)
    if name in BUILT_IN:
        return _openai(name, dict(BUILT_IN[name]), config, environment, origin="built in", trusted=True)
    adapter, colon, rest = name.partition(":")
    if adapter == "sim" and colon:
        return JudgeSpec(
            name=name, adapter="sim", target="", options={"dials": observer(rest), "seed": 0}, origin="built in"
        )
    if adapter == "replay" and rest:
        return JudgeSpec(name=name, adapter="replay", target=rest, options={}, origin="command line")
    if adapter == "openai" and rest:
        model, at, url = rest.rpartition("@")
        settings: dict[str, Any] = {"model": model, "url": url} if at and "://" in url else {"model": rest}
        return _openai(name, settings, config, environment, origin="command line", trusted=True)
    raise UsageError(_unknown(name, config))


def _unknown(name: str, config: Config) -> str:
    configured = config.judge_names()
    own = f"; in your datasheet.toml: {', '.join(configured)}" if configured else ""
    return (
        f"no judge {name!r}: name one of {', '.join(BUILT_IN)}{own}; or write openai:MODEL@URL, replay:LOG, or "
        f"sim:NAME ({', '.join(OBSERVERS)})"
    )


def _configured(entry: JudgeEntry, config: Config, environment: Mapping[str, str]) -> JudgeSpec:
    settings = dict(entry.settings)
    adapter = settings.pop("adapter")
    where = f"{entry.layer.path} [judge.{entry.name}]"
    if adapter == "openai":
        return _openai(entry.name, settings, config, environment, origin=where, trusted=entry.layer.trusted)
    if adapter == "sim":
        base = observer(settings.pop("observer", "careful"))
        seed = settings.pop("seed", 0)
        _refuse_unknown(settings, ("observer", "seed", *_DIALS), where)
        if not isinstance(seed, int) or any(isinstance(value, bool | str) for value in settings.values()):
            raise UsageError(f"{where}: dials are numbers, and the seed is a whole one")
        dials = Dials(**{dial: settings.get(dial, getattr(base, dial)) for dial in _DIALS})
        return JudgeSpec(
            name=entry.name, adapter="sim", target="", options={"dials": dials, "seed": seed}, origin=where
        )
    raise UsageError(f"{where}: no adapter {adapter!r}: choose one of openai, sim")


def _refuse_unknown(settings: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise UsageError(f"{where}: no setting {unknown[0]!r}: the settings are {', '.join(known)}")


def _openai(
    name: str,
    settings: dict[str, Any],
    config: Config,
    environment: Mapping[str, str],
    *,
    origin: str,
    trusted: bool,
) -> JudgeSpec:
    settings.pop("adapter", None)
    url = settings.pop("url", None) or environment.get(URL_VARIABLE) or LOCAL_URL
    _refuse_unknown(settings, ("url", *_OPENAI_OPTIONS), origin)
    if not isinstance(url, str) or not isinstance(settings.get("model"), str):
        raise UsageError(f"{origin}: judge {name!r} needs a model, and its url is text")
    if settings.get("temperature") == "unset":  # TOML has no null
        settings["temperature"] = None
    host = _host(url, origin)
    key_name = settings.pop("api_key_env", None)
    from_environment = environment.get(URL_VARIABLE)
    own_host = from_environment is not None and host == _host(from_environment, URL_VARIABLE)
    if key_name is None:
        key_name = config.key_for(url) or (KEY_VARIABLE if own_host else None)
    elif not (trusted or config.may_send(str(key_name), url) or (own_host and key_name == KEY_VARIABLE)):
        raise UsageError(
            f"{origin}: would send the key in {key_name} to {host}, which your own configuration does not allow: "
            f'bind it there ([keys] {key_name} = ["{host}"], https only), or name this file by --config'
        )
    options = {**settings, "base_url": url, "api_key_env": key_name}
    return JudgeSpec(name=name, adapter="openai", target="", options=options, origin=origin)


def _host(url: str, origin: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise UsageError(f"{origin}: expected a URL such as {LOCAL_URL}, found one without http(s) or host")
    return host


def make_judge(spec: JudgeSpec, *, lexicon: Lexicon, connections: int) -> Judge:
    """The judge of a spec, ready to be opened; a replay judge is made from its log instead.

    Raises
    ------
    UsageError
        A setting that the adapter can't use.
    """
    if spec.adapter == "sim":
        name = spec.name.removeprefix("sim:")
        return SimulatedJudge(spec.options["dials"], lexicon, name=name, seed=spec.options["seed"])
    try:
        return OpenAIJudge(**spec.options, connections=connections)
    except TypeError as problem:
        raise UsageError(f"{spec.origin}: a setting of judge {spec.name!r} has the wrong type: {problem}") from None
