"""``datasheet.toml``: judges and limits of one's own, and the rules of what a found file may do.

Layers, the first that knows a name wins: the file of ``--config``, a ``datasheet.toml`` in the working folder, the one
in the user's configuration folder. A file that merely lies in the working folder may come from anyone (a clone, a
download), so it may not name programs or Python code to run, and a key from the environment goes only to hosts that
the user's own file, or the named one, binds it to.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from platformdirs import user_config_path

from datasheet.errors import UsageError
from datasheet.files import read_limited

FILE_NAME = "datasheet.toml"
FOLDER_ADAPTERS = ("openai", "anthropic", "sim")
"""Adapters that a file found in the working folder may use: the others run code, or load files of its choice."""

KEY_HOSTS: Mapping[str, tuple[str, ...]] = {
    "OPENAI_API_KEY": ("api.openai.com",),
    "ANTHROPIC_API_KEY": ("api.anthropic.com",),
}
"""Hosts that a key may go to without any configuration."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")

Origin = Literal["flag", "folder", "user"]

_TABLES = ("judge", "keys", "limits")
_MAX_BYTES = 1_000_000
_MOST_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One file: where it was found, and its tables."""

    origin: Origin
    path: Path
    judges: Mapping[str, Mapping[str, Any]]
    keys: Mapping[str, tuple[str, ...]]
    limits: Mapping[str, float]

    @property
    def trusted(self) -> bool:
        """The user named this file, or keeps it with their own configuration."""
        return self.origin != "folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeEntry:
    """A configured judge: its settings as written, and the layer they come from."""

    name: str
    settings: Mapping[str, Any]
    layer: Layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The layers that were found, strongest first."""

    layers: tuple[Layer, ...] = field(default=())

    def judge(self, name: str) -> JudgeEntry | None:
        """The judge of a name, or None."""
        for layer in self.layers:
            if name in layer.judges:
                return JudgeEntry(name=name, settings=layer.judges[name], layer=layer)
        return None

    def judge_names(self) -> list[str]:
        """Names of all configured judges, sorted."""
        return sorted({name for layer in self.layers for name in layer.judges})

    def key_for(self, url: str) -> str | None:
        """Name of the environment variable whose key the user binds to the host of a URL, or None."""
        return next((name for name, hosts in self._bindings() if _binds(hosts, url)), None)

    def may_send(self, key_name: str, url: str) -> bool:
        """Whether the user binds a key to the host of a URL."""
        return any(name == key_name and _binds(hosts, url) for name, hosts in self._bindings())

    def _bindings(self) -> list[tuple[str, tuple[str, ...]]]:
        own = [binding for layer in self.layers if layer.trusted for binding in layer.keys.items()]
        return [*own, *KEY_HOSTS.items()]

    @property
    def limits(self) -> dict[str, float]:
        """Limits of flags that any layer sets, the strongest layer's winning."""
        merged: dict[str, float] = {}
        for layer in reversed(self.layers):
            merged |= layer.limits
        return merged


def _binds(hosts: tuple[str, ...], url: str) -> bool:
    """Whether a binding covers a URL: its host (or host:port), over https unless it is this machine."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.scheme != "https" and host not in LOOPBACK:
        return False
    usual = port is None or (parts.scheme, port) == ("https", 443)
    return f"{host}:{port}" in hosts or (host in hosts and (usual or host in LOOPBACK))


def user_folder() -> Path:
    """The user's own configuration folder."""
    return user_config_path("judge-datasheet")


def load_config(flag: str | Path | None = None, *, folder: Path | None = None) -> Config:
    """Read the layers that exist.

    Parameters
    ----------
    flag
        The file of ``--config``; it must exist.
    folder
        The working folder; the present one if None.

    Raises
    ------
    UsageError
        A file can't be read or breaks a rule; the message names it and the place.
    """
    layers = []
    if flag is not None:
        layers.append(_read(Path(flag), "flag"))
    here = (folder or Path()) / FILE_NAME
    if here.is_file() and not any(layer.path.resolve() == here.resolve() for layer in layers):
        layers.append(_read(here, "folder"))
    own = user_folder() / FILE_NAME
    if own.is_file():
        layers.append(_read(own, "user"))
    return Config(layers=tuple(layers))


def _read(path: Path, origin: Origin) -> Layer:
    try:
        tables = tomllib.loads(read_limited(path, _MAX_BYTES).decode("utf-8"))
    except OSError as problem:
        raise UsageError(f"the configuration {path} can't be read: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:  # of another encoding, or a number of thousands of digits, too
        raise UsageError(f"the configuration {path} is not TOML: {problem}") from None
    unknown = sorted(set(tables) - set(_TABLES))
    if unknown:
        raise UsageError(f"{path}: unknown table {unknown[0]!r}: expected {', '.join(_TABLES)}")
    for name in _TABLES:
        if not isinstance(tables.get(name, {}), dict):
            raise UsageError(f"{path}: {name!r} should be a table")
    layer = Layer(
        origin=origin,
        path=path,
        judges=_judges(path, tables.get("judge", {})),
        keys=_keys(path, tables.get("keys", {})),
        limits=_limits(path, tables.get("limits", {})),
    )
    _check_trust(layer)
    return layer


def _judges(path: Path, table: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    for name, settings in table.items():
        if not name.strip() or not name.isprintable():
            raise UsageError(f"{path}: a judge's name should be text without control characters, found {name!r:.80}")
        if not isinstance(settings, dict) or not isinstance(settings.get("adapter"), str):
            raise UsageError(f'{path}: [judge.{name}] should be a table with an adapter, such as adapter = "openai"')
    return dict(table)


def _keys(path: Path, table: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    keys = {}
    for name, hosts in table.items():
        hosts = [hosts] if isinstance(hosts, str) else hosts
        if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
            raise UsageError(
                f"{path}: [keys] {name!r:.80} should be a host or a list of hosts (with :PORT if any), "
                'such as ["api.example.com"]'
            )
        keys[name] = tuple(hosts)
    return keys


def _limits(path: Path, table: Mapping[str, Any]) -> dict[str, float]:
    for name, value in table.items():
        kinds, wish = (int, "a whole number") if name.startswith("least_") else (int | float, "a number")
        if isinstance(value, bool) or not isinstance(value, kinds) or not 0 <= value <= _MOST_LIMIT:
            raise UsageError(f"{path}: [limits] {name} should be {wish} from 0 to {_MOST_LIMIT:,}, found {value!r:.60}")
    return dict(table)


def _check_trust(layer: Layer) -> None:
    """A file found in the working folder may not run anything, nor say where keys go."""
    if layer.trusted:
        return
    hint = f"put it in your own configuration ({user_folder() / FILE_NAME}) or name it by --config"
    for name, settings in layer.judges.items():
        if settings["adapter"] not in FOLDER_ADAPTERS:
            raise UsageError(
                f"{layer.path}: [judge.{name}] would run code, or load a file of its choice "
                f"({settings['adapter']!r:.80}), which a file found in the working folder may not do (it may use "
                f"{', '.join(FOLDER_ADAPTERS)}): {hint}"
            )
        if "tls" in settings:
            raise UsageError(
                f"{layer.path}: [judge.{name}] says whose certificates are trusted (tls), which a file found in the "
                f"working folder may not: {hint}"
            )
    if layer.keys:
        raise UsageError(
            f"{layer.path}: [keys] says where keys go, which a file found in the working folder may not: {hint}"
        )
