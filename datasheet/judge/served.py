"""Judges behind a URL: which server is asked, and which key may go there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from datasheet.config import Config
from datasheet.errors import UsageError
from datasheet.judge.settings import ANTHROPIC, OPENAI, Setting, check_settings
from datasheet.judge.spec import JudgeSpec, Source
from datasheet.judge.urls import server_url

LOCAL_URL = "http://127.0.0.1:8000/v1"
"""The port that a local vLLM server listens on by default."""

_URL = re.compile(r"(?P<model>.*)@(?P<url>https?://.*)", re.DOTALL)  # the last "@http": a model's name may hold an @


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """An API that many servers may speak.

    Attributes
    ----------
    url_variable, key_variable
        Environment variables that the API's own clients read; the key goes to the host of that URL.
    usual_url
        The server where neither the settings nor the environment name one; "" is a local one.
    """

    adapter: str
    settings: Mapping[str, Setting]
    url_variable: str
    key_variable: str
    usual_url: str


APIS: Mapping[str, Api] = {
    api.adapter: api
    for api in (
        Api(
            adapter="openai",
            settings=OPENAI,
            url_variable="OPENAI_BASE_URL",
            key_variable="OPENAI_API_KEY",
            usual_url="",
        ),
        Api(
            adapter="anthropic",
            settings=ANTHROPIC,
            url_variable="ANTHROPIC_BASE_URL",
            key_variable="ANTHROPIC_API_KEY",
            usual_url="https://api.anthropic.com/v1",
        ),
    )
}


def public(text: str) -> str:
    """A text without what only the server of a URL in it may know: user, password, query and fragment."""
    return re.sub(r"://.*@", "://", re.split(r"[?#]", text)[0], flags=re.DOTALL)


def spelled_settings(adapter: str, rest: str) -> tuple[str, dict[str, Any]]:
    """The name and the settings of ``MODEL`` or ``MODEL@URL``.

    Raises
    ------
    UsageError
        It is neither.
    """
    found = _URL.fullmatch(rest)
    model, url = (found["model"], found["url"]) if found else (rest, "")
    if "://" in model:
        raise UsageError(
            f"--judge: expected {adapter}:MODEL@URL with one URL of http:// or https://, found {public(rest)!r:.200}"
        )
    if url:
        return f"{adapter}:{model}@{public(url)}", {"model": model, "url": url}
    return f"{adapter}:{model}", {"model": model}


def served_spec(
    api: Api, name: str, settings: dict[str, Any], source: Source, config: Config, environment: Mapping[str, str]
) -> JudgeSpec:
    """The judge of some settings.

    Raises
    ------
    UsageError
        A setting that does not fit, or a key that may not go to that host.
    """
    origin = source.origin
    check_settings(settings, api.settings, origin)
    if "model" not in settings:
        raise UsageError(f'{origin}: judge {name!r} needs a model, as in model = "Qwen/Qwen2.5-32B-Instruct"')
    from_environment = environment.get(api.url_variable, "").strip()
    configured = settings.pop("url", None)
    url = configured or from_environment or api.usual_url or LOCAL_URL
    host = _host(url, origin if configured or not from_environment else api.url_variable)
    own_server = _origin(url) is not None and _origin(url) == _origin(from_environment)
    if settings.get("temperature") == "unset":  # TOML has no null
        settings["temperature"] = None
    key_name = settings.pop("api_key_env", None)
    if key_name is None:
        key_name = config.key_for(url) or (api.key_variable if own_server else None)
    elif not (source.trusted or config.may_send(key_name, url) or (own_server and key_name == api.key_variable)):
        raise UsageError(
            f"{origin}: would send the key in {key_name} to {host}, which your own configuration does not allow: "
            f'bind it there ([keys] {key_name} = ["{host}"], https only), or name this file by --config'
        )
    options = {**settings, "base_url": url, "api_key_env": key_name}
    return JudgeSpec(name=name, adapter=api.adapter, options=options, origin=origin)


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
