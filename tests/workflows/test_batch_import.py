"""The law of an import: what a log reads of a batch is a matter of what the lines say, not of how they come."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from batches import expired_line, openai_line, vllm_failure, write_lines
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback import completion
from trials.fake_judge import INSTRUMENT, plan

from datasheet.trials.exported import run_prefix
from datasheet.trials.log import TrialLog
from datasheet.workflows.batch_import import import_batch

TRIALS = plan(8)
NAMES = [f"{run_prefix(INSTRUMENT)}{request.key}" for _, request in TRIALS]
LINES: list[dict[str, Any]] = [
    *(openai_line(name, completion(f"[[{'ABC'[i % 3]}]]")) for i, name in enumerate(NAMES[:5])),
    openai_line(NAMES[5], completion("")),
    expired_line(NAMES[6]),
    vllm_failure(NAMES[0], "out of memory", status=500),
]


@pytest.fixture(scope="module")
def exported_log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A log from which all trials were exported."""
    path = tmp_path_factory.mktemp("exported") / "trials.sqlite"
    with TrialLog.open(path, instrument={**INSTRUMENT, "adapter": "openai"}) as log:
        log.add_stimuli(trial.stimulus for trial, _ in TRIALS)
        log.add_exported(TRIALS)
    return path.read_bytes()


def held(path: Path) -> tuple[object, ...]:
    """What a log holds, but for when it came."""
    with TrialLog.read(path) as log:
        assert log.verify() == []
        readings = [(logged.key, logged.order, logged.reply, logged.from_batch) for logged in log.readings()]
        return readings, sorted(log.stored("failure", ("key", "kind", "message"))), log.reported_model


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, len(LINES) - 1), min_size=1, max_size=20), st.integers(1, 2), st.randoms())
def test_order_duplicates_and_parts_change_nothing(
    exported_log: bytes, taken: list[int], parts: int, rng: random.Random
) -> None:
    once = [LINES[i] for i in sorted(set(taken))]
    shuffled = rng.sample(taken, len(taken))
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        plain, mixed = (Path(folder) / "trials.sqlite" for folder in (one, other))
        for path in (plain, mixed):
            path.write_bytes(exported_log)
        whole = import_batch(plain, [write_lines(Path(one) / "output.jsonl", once)])
        for part in range(parts):
            lines = [LINES[i] for i in shuffled[part::parts]]
            if lines:
                last = import_batch(mixed, [write_lines(Path(other) / f"part-{part}.jsonl", lines)])
        assert held(mixed) == held(plain)
        assert last.pending == whole.pending == len(TRIALS) - len({LINES[i]["custom_id"] for i in taken if i < 5})
        assert sum(whole.failed.values()) == len({5, 6} & set(taken)) + (7 in taken and 0 not in taken)
        before = plain.read_bytes()
        again = import_batch(plain, [Path(one) / "output.jsonl"])
        assert (again.added, again.known, again.failed) == (0, whole.added, whole.failed)
        assert plain.read_bytes() == before
