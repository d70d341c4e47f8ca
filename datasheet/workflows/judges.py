"""``datasheet judges``: which judges and prompts there are, and what a judge's name stands for."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import Any

from datasheet.config import Config
from datasheet.errors import UsageError
from datasheet.judge.catalogue import BUILT_IN, find_judge, make_judge
from datasheet.judge.plugins import package_of, plugin_adapters
from datasheet.judge.served import APIS
from datasheet.judge.simulated import OBSERVERS
from datasheet.judge.spec import JudgeSpec
from datasheet.prompts import load_variant, variant_names
from datasheet.records import Lexicon


def listed(config: Config) -> list[dict[str, str]]:
    """Every judge that has a name: configured, built in, and the simulated observers; and adapters of packages."""
    names = list(dict.fromkeys([*config.judge_names(), *BUILT_IN, *(f"sim:{name}" for name in OBSERVERS)]))
    rows = []
    for name in names:
        try:
            spec = find_judge(name, config)
        except UsageError as problem:
            rows.append({"name": name, "adapter": "-", "model": "-", "origin": f"unusable: {problem}"})
            continue
        rows.append({"name": name, "adapter": spec.adapter, "model": _model(spec), "origin": spec.origin})
    for adapter, entry in plugin_adapters().items():
        rows.append({"name": f"{adapter}:MODEL", "adapter": adapter, "model": "-", "origin": package_of(entry)})
    return rows


def _model(spec: JudgeSpec) -> str:
    """The model, or what stands for one."""
    if spec.adapter == "sim":
        return "simulated observer"
    named = next((spec.options[name] for name in ("model", "function", "command", "file") if name in spec.options), "-")
    return " ".join(named) if isinstance(named, list) else str(named)


def shown(name: str, config: Config) -> dict[str, Any]:
    """What a judge's name stands for; a key is named, never read."""
    spec = find_judge(name, config)
    options = {
        key: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
        for key, value in spec.options.items()
        if value is not None
    }
    if spec.adapter in APIS:
        # Nothing of a URL but the server's address, and of headers no value.
        provenance = make_judge(spec, lexicon=Lexicon(requirements={}), connections=1).provenance
        options["base_url"] = provenance["url"]
        options |= {"headers": provenance["headers"]} if "headers" in provenance else {}
    if spec.prices is not None:
        options["prices"] = {name: price for name, price in asdict(spec.prices).items() if price is not None}
    return {"name": spec.name, "adapter": spec.adapter, "origin": spec.origin, **options}


def prompt_variants() -> list[dict[str, Any]]:
    """The shipped prompt variants."""
    return [
        {
            "name": name,
            "title": variant.title,
            "description": variant.description,
            "ties_allowed": variant.ties_allowed,
            "prompt_hash": variant.prompt_hash,
        }
        for name in variant_names()
        for variant in [load_variant(name)]
    ]
