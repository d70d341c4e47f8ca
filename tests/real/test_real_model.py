"""A real language model behind a real OpenAI-compatible server: invariants only, its behaviour is reported as data.

`.ci/run` builds and starts the server (`tests/real/serve.sh`). SmolLM2-135M is far too small to be a good judge, which
is what makes it a good test: it replies off format and prefers the first slot.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from datasheet.config import Config
from datasheet.stimulus.design import DESIGNS
from datasheet.workflows import logs
from datasheet.workflows.analyze import analyze
from datasheet.workflows.build import LOG_NAME, BuildOptions, BuildResult, build

pytestmark = pytest.mark.real

CALLS = 22


@pytest.fixture(autouse=True)
def _tiny_design(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tasks of the quick design: 2 vacuum readings, 4 same-quality and 6 ladder pairs in both orders."""
    monkeypatch.setitem(DESIGNS, "tiny", replace(DESIGNS["quick"], name="tiny", n_tasks=2))


def measured(judge: str, prompt: str, out: Path) -> tuple[BuildResult, int]:
    """A build, and the number of calls it said it would make."""
    asked: list[int] = []
    result = build(
        BuildOptions(judge=judge, prompt=prompt, design="tiny", out=out, concurrency=2),
        Config(),
        announce=lambda plan: asked.append(plan.to_ask),
    )
    return result, asked[0]


@pytest.mark.parametrize("prompt", ["default", "bracket"])
def test_a_real_model_is_measured(prompt: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "sheet"
    result, asked = measured("smollm2", prompt, out)
    assert asked == CALLS
    sheet = result.sheet
    assert sheet is not None
    assert sheet["judge"]["simulated"] is False
    assert sheet["validity"]["readings"] == CALLS
    assert sheet["validity"]["valid"] + sum(sheet["validity"]["invalid"].values()) == CALLS
    assert (sheet["design"]["planned"], sheet["design"]["unanswered"]) == (CALLS, 0)
    assert sheet["operation"]["calls"] == CALLS
    assert sheet["operation"]["calls_with_token_counts"] == CALLS
    assert {file.name for file in result.documents.files} == {  # type: ignore[union-attr]
        "datasheet.json",
        "datasheet.html",
        "datasheet.pdf",
    }
    assert logs.verify(out) == []
    estimates = {row["key"]: row["estimate"] for row in sheet["characteristics"]}
    classes = [estimates[name] for name in sheet["decomposition"]["classes"]]
    if sheet["decomposition"]["n_complete"]:
        assert sum(classes) == pytest.approx(1)
        scs, pfp, osc, _, conflict = classes
        assert estimates["raw_false_preference"] == pytest.approx(scs + pfp + conflict + osc / 2)

    before = {path.name: path.read_bytes() for path in out.iterdir()}
    again, asked = measured("smollm2", prompt, out)
    assert asked == 0
    assert again.outcome is None
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before

    exported = tmp_path / "verdicts.jsonl"
    assert logs.export(out / LOG_NAME, exported) == CALLS
    replayed, asked = measured(f"replay:{exported}", prompt, tmp_path / "replayed")
    assert asked == CALLS
    assert replayed.sheet is not None
    assert replayed.sheet["judge"]["judge_id"] == sheet["judge"]["judge_id"]
    for key in ("characteristics", "readings", "profile", "curves", "decomposition"):
        assert replayed.sheet[key] == sheet[key], key
        assert analyze(exported).sheet[key] == sheet[key], key

    with capsys.disabled():
        print(
            f"\nSmolLM2-135M-Instruct, prompt {prompt}: {sheet['validity']['valid']} valid of {CALLS}, "
            f"invalid {sheet['validity']['invalid']}, PFP {estimates['positional_false_preference']}, "
            f"median latency {sheet['operation']['latency_median_s']} s"
        )
