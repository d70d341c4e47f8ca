"""``datasheet judges check``: a few probe calls, and what they show of a judge."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from datasheet.config import Config
from datasheet.errors import JudgeError, UsageError
from datasheet.judge.base import Judge
from datasheet.judge.catalogue import find_judge, make_judge
from datasheet.judge.spec import JudgeSpec
from datasheet.prompts import load_variant, parse
from datasheet.records import Reply, Request, Trial
from datasheet.stimulus.bank import load_bank
from datasheet.stimulus.design import plan
from datasheet.stimulus.lexicon import make_lexicon
from datasheet.workflows.instrument import Instrument

EQUAL_CALLS = 3

# What is turned on for one call each, by adapter; the others have no such settings.
_SUPPORT: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "openai": {
        "json_schema": {"json_mode": "json_schema"},
        "json_object": {"json_mode": "json_object"},
        "seed": {"seed": 1},
    },
    "local": {"json_object": {"json_mode": "json_object"}, "seed": {"seed": 1}},
}


def checked(name: str, config: Config) -> dict[str, Any]:
    """What a few probe calls show: valid replies, determinism over equal calls, and what the judge supports.

    Raises
    ------
    UsageError
        A replay judge, which has nothing to probe.
    JudgeError
        The judge can't be asked.
    """
    spec = find_judge(name, config)
    if spec.adapter == "replay":
        raise UsageError("a replay judge answers from its log: there is nothing to probe")
    return asyncio.run(_probe(spec))


async def _probe(spec: JudgeSpec) -> dict[str, Any]:
    trial = next(trial for trial in plan(load_bank("english"), "quick") if trial.stimulus.delta_q == 1)
    judge = _judge(spec)
    variant = load_variant("default")
    replies = await _ask(judge, _requests(judge, trial) * EQUAL_CALLS)
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
    invalid = sorted({verdict.invalid for verdict in verdicts if verdict.invalid})
    if invalid:
        report["invalid_because"] = ", ".join(invalid)
    for what, changes in _SUPPORT.get(spec.adapter, {}).items():
        report[what] = await _supported(spec, changes, trial)
    report["log_probabilities"] = await _log_probabilities(spec, trial)
    return report


async def _supported(spec: JudgeSpec, changes: Mapping[str, Any], trial: Trial) -> str:
    """One call with a setting turned on: "yes", or why not."""
    judge = _judge(replace(spec, options={**spec.options, **changes}))
    try:
        (reply,) = await _ask(judge, _requests(judge, trial))
    except JudgeError as problem:
        return f"no: {problem}"
    if "json_mode" in changes and not _is_json_object(reply.text):
        return "no: accepted, but the reply is not JSON"
    return "yes"


async def _log_probabilities(spec: JudgeSpec, trial: Trial) -> str:
    """One call under the prompt that wants candidates: "yes", or why not."""
    judge = _judge(spec)
    try:
        (reply,) = await _ask(judge, _requests(judge, trial, prompt="logprob"))
    except JudgeError as problem:
        return f"no: {problem}"
    if reply.logprobs:
        return "yes"
    return "no: accepted, but none came back" if spec.adapter in _SUPPORT else "no: none came back"


def _judge(spec: JudgeSpec) -> Judge:
    return make_judge(spec, lexicon=make_lexicon(load_bank("english")), connections=EQUAL_CALLS)


def _requests(judge: Judge, trial: Trial, *, prompt: str = "default") -> list[Request]:
    planned = Instrument(name="probe", judge=judge, variant=load_variant(prompt)).requests([trial])
    return [request for _, request in planned]


async def _ask(judge: Judge, requests: list[Request]) -> list[Reply]:
    await judge.open()
    try:
        return [await judge.ask(request) for request in requests]
    finally:
        await judge.close()


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
