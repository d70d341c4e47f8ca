"""The catalogue: from what a user writes after ``--judge`` to a judge that can be asked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

from datasheet.config import Config, JudgeEntry
from datasheet.errors import UsageError
from datasheet.judge.base import Judge
from datasheet.judge.openai import OpenAIJudge
from datasheet.judge.settings import OPENAI, SIMULATED, check_settings
from datasheet.judge.simulated import OBSERVERS, Dials, SimulatedJudge, observer
from datasheet.judge.urls import server_url
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

_URL = re.compile(r"(?P<model>.*)@(?P<url>https?://.*)", re.DOTALL)  # the last "@http": a model's name may hold an @
_DIALS = tuple(item.name for item in fields(Dials))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSpec:
    """A judge as it was named, found and checked, before anything is opened.

    Attributes
    ----------
    name
        As the user wrote it, but for what a URL holds besides the server's address: it is shown and stored.
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
        return _spelled_out(rest, config, environment)
    raise UsageError(_unknown(name, config))


def _spelled_out(rest: str, config: Config, environment: Mapping[str, str]) -> JudgeSpec:
    """The judge of ``MODEL`` or ``MODEL@URL``."""
    found = _URL.fullmatch(rest)
    model, url = (found["model"], found["url"]) if found else (rest, "")
    if "://" in model:
        raise UsageError(
            f"--judge: expected openai:MODEL@URL with one URL of http:// or https://, found {public(rest)!r:.200}"
        )
    name = f"openai:{model}@{public(url)}" if url else f"openai:{model}"
    settings = {"model": model, "url": url} if url else {"model": model}
    return _openai(name, settings, config, environment, origin="command line", trusted=True)


def public(text: str) -> str:
    """A text without what only the server of a URL in it may know: user, password, query and fragment."""
    return re.sub(r"://.*@", "://", re.split(r"[?#]", text)[0], flags=re.DOTALL)


def _unknown(name: str, config: Config) -> str:
    configured = config.judge_names()
    own = f"; in your datasheet.toml: {', '.join(configured)}" if configured else ""
    return (
        f"no judge {public(name)!r}: name one of {', '.join(BUILT_IN)}{own}; or write openai:MODEL@URL, replay:LOG, or "
        f"sim:NAME ({', '.join(OBSERVERS)})"
    )


def _configured(entry: JudgeEntry, config: Config, environment: Mapping[str, str]) -> JudgeSpec:
    settings = dict(entry.settings)
    adapter = settings.pop("adapter")
    where = f"{entry.layer.path} [judge.{entry.name}]"
    if adapter == "openai":
        return _openai(entry.name, settings, config, environment, origin=where, trusted=entry.layer.trusted)
    if adapter == "sim":
        return _simulated(entry.name, settings, where)
    raise UsageError(f"{where}: no adapter {adapter!r}: choose one of openai, sim")


def _simulated(name: str, settings: Mapping[str, Any], where: str) -> JudgeSpec:
    check_settings(settings, SIMULATED, where)
    base = observer(settings.get("observer", "careful"))
    try:
        dials = replace(base, **{dial: settings[dial] for dial in _DIALS if dial in settings})
    except UsageError as problem:
        raise UsageError(f"{where}: {problem}") from None
    options = {"dials": dials, "seed": settings.get("seed", 0)}
    return JudgeSpec(name=name, adapter="sim", target="", options=options, origin=where)


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
    check_settings(settings, OPENAI, origin)
    if "model" not in settings:
        raise UsageError(f'{origin}: judge {name!r} needs a model, as in model = "Qwen/Qwen2.5-32B-Instruct"')
    from_environment = environment.get(URL_VARIABLE, "").strip()
    configured = settings.pop("url", None)
    url = configured or from_environment or LOCAL_URL
    host = _host(url, origin if configured or not from_environment else URL_VARIABLE)
    own_server = _origin(url) is not None and _origin(url) == _origin(from_environment)
    if settings.get("temperature") == "unset":  # TOML has no null
        settings["temperature"] = None
    key_name = settings.pop("api_key_env", None)
    if key_name is None:
        key_name = config.key_for(url) or (KEY_VARIABLE if own_server else None)
    elif not (trusted or config.may_send(key_name, url) or (own_server and key_name == KEY_VARIABLE)):
        raise UsageError(
            f"{origin}: would send the key in {key_name} to {host}, which your own configuration does not allow: "
            f'bind it there ([keys] {key_name} = ["{host}"], https only), or name this file by --config'
        )
    options = {**settings, "base_url": url, "api_key_env": key_name}
    return JudgeSpec(name=name, adapter="openai", target="", options=options, origin=origin)


def _host(url: str, origin: str) -> str:
    try:
        return server_url(url).host or ""
    except UsageError as problem:
        raise UsageError(f"{origin}: {problem}") from None


def _origin(url: str) -> tuple[str, str | None, int | None] | None:
    """Scheme, host and port of a URL; None where it is no server's, which is a fault only where it is used."""
    try:
        server = server_url(url)
    except UsageError:
        return None
    return server.scheme, server.host, server.port


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
    return OpenAIJudge(**spec.options, connections=connections)
