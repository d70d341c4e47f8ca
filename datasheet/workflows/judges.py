"""``datasheet judges``: what a name stands for, and what a judge can do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass, replace
from typing import Any

from datasheet.config import Config
from datasheet.errors import JudgeError, UsageError
from datasheet.judge.base import Judge
from datasheet.judge.catalogue import BUILT_IN, find_judge, make_judge
from datasheet.judge.simulated import OBSERVERS
from datasheet.judge.spec import JudgeSpec
from datasheet.prompts import load_variant, parse, variant_names
from datasheet.records import Reply, Request, Trial
from datasheet.stimulus.bank import load_bank
from datasheet.stimulus.design import plan
from datasheet.stimulus.lexicon import make_lexicon
from datasheet.workflows.instrument import Instrument

EQUAL_CALLS = 3


def listed(config: Config) -> list[dict[str, str]]:
    """Every judge that has a name: configured, built in, and the simulated observers."""
    names = list(dict.fromkeys([*config.judge_names(), *BUILT_IN, *(f"sim:{name}" for name in OBSERVERS)]))
    rows = []
    for name in names:
        try:
            spec = find_judge(name, config)
        except UsageError as problem:
            rows.append({"name": name, "adapter": "-", "model": "-", "origin": f"unusable: {problem}"})
            continue
        model = str(spec.options.get("model", "simulated observer"))
        rows.append({"name": name, "adapter": spec.adapter, "model": model, "origin": spec.origin})
    return rows


def shown(name: str, config: Config) -> dict[str, Any]:
    """What a judge's name stands for; a key is named, never read."""
    spec = find_judge(name, config)
    options = {
        key: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
        for key, value in spec.options.items()
        if value is not None
    }
    judge = _judge(spec) if spec.adapter != "replay" else None
    if judge is not None and "url" in judge.provenance:
        options["base_url"] = judge.provenance["url"]
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


def _judge(spec: JudgeSpec) -> Judge:
    return make_judge(spec, lexicon=make_lexicon(load_bank("english")), connections=EQUAL_CALLS)


def checked(name: str, config: Config) -> dict[str, Any]:
    """What a few probe calls show: valid replies, determinism over equal calls, and what the server supports.

    Raises
    ------
    UsageError
        A replay judge, which has nothing to probe.
    PermanentJudgeError
        The judge can't be asked.
    """
    spec = find_judge(name, config)
    if spec.adapter == "replay":
        raise UsageError("a replay judge answers from its log: there is nothing to probe")
    return asyncio.run(_probe(spec))


async def _probe(spec: JudgeSpec) -> dict[str, Any]:
    variant = load_variant("default")
    trial = next(trial for trial in plan(load_bank("english"), "quick") if trial.stimulus.delta_q == 1)
    judge = _judge(spec)
    instrument = Instrument(name=spec.name, judge=judge, variant=variant)
    equal = [request for _, request in instrument.requests([trial] * EQUAL_CALLS)]
    replies = await _ask(judge, equal)
    verdicts = [parse(variant, reply) for reply in replies]
    report: dict[str, Any] = {
        "judge": spec.name,
        "model": judge.model,
        "reported_model": replies[0].model or "not reported",
        "valid_replies": sum(verdict.invalid is None for verdict in verdicts),
        "calls": len(replies),
        "equal_over_equal_calls": len({reply.text for reply in replies}) == 1,
        "latency_s": round(min(reply.latency_s for reply in replies), 3),
        "token_counts": replies[0].prompt_tokens is not None,
    }
    for what, changes in _SUPPORT.items() if spec.adapter == "openai" else ():
        report[what] = await _supported(spec, changes, trial)
    return report


_SUPPORT: Mapping[str, Mapping[str, Any]] = {
    "json_schema": {"json_mode": "json_schema"},
    "json_object": {"json_mode": "json_object"},
    "seed": {"seed": 1},
    "log_probabilities": {"logprobs": 5},
}


async def _supported(spec: JudgeSpec, changes: Mapping[str, Any], trial: Trial) -> str:
    """One call with a setting turned on: "yes", or why not."""
    judge = _judge(replace(spec, options={**spec.options, **changes}))
    instrument = Instrument(name=spec.name, judge=judge, variant=load_variant("default"))
    try:
        reply = (await _ask(judge, [instrument.requests([trial])[0][1]]))[0]
    except JudgeError as problem:
        return f"no: {problem}"
    if "logprobs" in changes and not reply.logprobs:
        return "no: accepted, but none came back"
    return "yes"


async def _ask(judge: Judge, requests: list[Request]) -> list[Reply]:
    await judge.open()
    try:
        return [await judge.ask(request) for request in requests]
    finally:
        await judge.close()
