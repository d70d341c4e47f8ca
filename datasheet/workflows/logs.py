"""``datasheet log``: check a trial log, write it as a verdict log, and make one of several."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import exp
from pathlib import Path
from typing import Any

from datasheet.errors import UsageError
from datasheet.exchange.verdict_log import write_verdict_log
from datasheet.prompts import PARSER, PromptVariant
from datasheet.records import LabelLogProbabilities
from datasheet.trials.log import TrialLog
from datasheet.trials.merge import Merge
from datasheet.trials.merge import merge as merge_logs
from datasheet.workflows.analyze import LOG_SUFFIXES, is_trial_log
from datasheet.workflows.asking import make_folder
from datasheet.workflows.context import LOG_NAME
from datasheet.workflows.logged import reading_row, variant_of, verdict_of

_LEAST_LOGPROB = -700.0  # below, a probability is no number that a float can hold
_HEADER_TEXTS = (
    *("judge", "judge_id", "adapter", "model", "prompt", "prompt_hash", "rubric_hash"),
    *("bank", "bank_hash", "language", "design"),
)


def log_path(source: Path) -> Path:
    """The trial log of a folder, or the file itself."""
    return source / LOG_NAME if source.is_dir() else source


def verify(source: Path) -> list[str]:
    """Faults of a trial log, one sentence each.

    Raises
    ------
    UsageError
        The file is no trial log.
    """
    with TrialLog.read(trial_log(source)) as log:
        return log.verify()


def merge(sources: Sequence[Path], out: Path) -> Merge:
    """Write the readings of several logs of one run as the log of a folder, where a build can go on from.

    Raises
    ------
    UsageError
        There are no two logs to merge, or one of them is no trial log.
    TrialLogError
        They don't fit together (:func:`datasheet.trials.merge.merge`), or the folder can't be made or has a log.
    """
    if len(sources) < 2:
        raise UsageError("expected two logs or more to merge")
    paths = [trial_log(source) for source in sources]
    make_folder(out)
    return merge_logs(paths, out / LOG_NAME)


def trial_log(source: Path) -> Path:
    """The trial log of a source; a file of another kind is refused with what reads it."""
    path = log_path(source)
    if not path.is_file() or not path.stat().st_size or is_trial_log(path):
        return path
    reads = "`datasheet analyze` reads verdict logs, and checks them" if path.suffix.lower() in LOG_SUFFIXES else ""
    raise UsageError(
        f"{path} is no trial log: expected the {LOG_NAME} of a build, or its folder{f'; {reads}' if reads else ''}"
    )


def export(source: Path, target: Path, *, raw: bool = True, force: bool = False) -> int:
    """Write a trial log as a verdict log; returns the number of readings.

    Parameters
    ----------
    raw
        With the judge's own words, without which the log can be analysed but not replayed.

    Raises
    ------
    UsageError
        The target exists, and ``force`` is not given.
    """
    path = trial_log(source)
    if target.exists() and path.exists() and target.samefile(path):
        raise UsageError(f"{target} is the log itself: name another file")
    if target.exists() and not force:
        raise UsageError(f"{target} exists already: name another file, or give --force to replace it")
    with TrialLog.read(path) as log:
        variant = variant_of(log)
        held = log.instrument
        header = {
            **{field: held[field] for field in _HEADER_TEXTS if held.get(field)},
            **{field: int(held[field]) for field in ("seed", "repeats") if held.get(field)},
            "decoding": json.loads(held["decoding"]),
            "simulated": held["simulated"] == "yes",
            "ties_allowed": variant.ties_allowed,
            "parser": PARSER,
            "length_unit": "words",
        }
        return write_verdict_log(target, header, _rows(log, variant, raw=raw))


def _rows(log: TrialLog, variant: PromptVariant, *, raw: bool) -> Iterator[Mapping[str, Any]]:
    for logged in log.readings():
        reply, words = logged.reply, raw and logged.kept is None
        row = reading_row(variant, logged, verdict_of(variant, logged))
        yield {
            "pair": row.stimulus,
            "order": row.order,
            "repeat": row.repeat,
            "verdict": row.outcome,
            "invalid": row.invalid,
            "abstained": row.abstained or None,
            "probe": row.probe,
            "arm": row.arm,
            "task": row.task,
            "delta_q": row.delta_q,
            "level_a": row.level_a,
            "level_b": row.level_b,
            "length_a": row.length_a,
            "length_b": row.length_b,
            "filler_b": row.filler_b,
            "dose": row.dose,
            **_probabilities(row.labels),
            "trial": logged.key,
            "reported_model": reply.model or None,
            "finish_reason": reply.finish_reason or None,
            "refusal": (reply.refusal or None) if words else None,
            "reasoning": (reply.reasoning or None) if words else None,
            "logprobs": [list(candidate) for candidate in reply.logprobs] or None,
            "fingerprint": reply.fingerprint or None,
            "prompt_tokens": reply.prompt_tokens,
            "cached_tokens": reply.cached_tokens,
            "completion_tokens": reply.completion_tokens,
            "latency_s": None if logged.from_batch else reply.latency_s,
            "from_batch": logged.from_batch or None,
            "at": logged.at,
            "raw": reply.text if words else None,
        }


def _probabilities(labels: LabelLogProbabilities | None) -> dict[str, float]:
    """Probabilities by slot of what a reply's candidates list, and of the least likely of them."""
    if labels is None:
        return {}
    listed = {"p_first": labels.first, "p_tie": labels.tie, "p_second": labels.second, "p_floor": labels.floor}
    return {field: min(exp(logprob), 1.0) for field, logprob in listed.items() if logprob > _LEAST_LOGPROB}
