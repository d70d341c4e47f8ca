"""Soft readings from the prompt to the sheet: planted dials come back, and every figure follows from the sheet."""

from __future__ import annotations

import json
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Command
from loopback import Call, LoopbackServer, Step, completion
from pypdf import PdfReader

from datasheet.analysis.characterise import characterise
from datasheet.analysis.derived import threshold
from datasheet.readings import Readings
from datasheet.sheet.build import characteristic
from datasheet.sheet.schema import load_sheet
from datasheet.sheet.scope import scope_of
from datasheet.trials.log import TrialLog

SOFT = ("resolution@soft", "criterion@soft", "position@soft", "threshold_75@soft")
DESCRIBED = ("label_mass", "label_agreement", "censored_share", "residual_normality")
QUALITY = {"sensitivity": 0.6, "criterion": 0.5, "position": 0.3, "surface": 0.6, "noise": 0.8}


def built(command: Command, *, design: str = "standard", out: str = "X", render: bool = False, **dials: float) -> Any:
    lines = "\n".join(f"{name} = {value}" for name, value in dials.items())
    Path("datasheet.toml").write_text(
        f'[judge.planted]\nadapter = "sim"\nobserver = "coin-flip"\n{lines}\n', encoding="utf-8"
    )
    documents = [] if render else ["--no-render"]
    run = command("build", "--judge", "planted", "--prompt", "logprob", "--design", design, "--out", out, *documents)
    assert run.code == 0, run.err
    return load_sheet((Path(out) / "datasheet.json").read_bytes(), "datasheet.json")


def by_key(sheet: Any) -> dict[str, dict[str, Any]]:
    return {row["key"]: row for row in sheet["characteristics"]}


def test_planted_dials_come_back_with_narrower_limits_than_hard_ones(command: Command) -> None:
    sheet = built(command, **QUALITY, lapse_rate=0.0, invalid_rate=0.01)
    found = by_key(sheet)
    for key, dial in (("resolution", "sensitivity"), ("criterion", "criterion"), ("position", "position")):
        row = found[f"{key}@soft"]
        # One 95% interval in twenty misses: so far off as this, one in three hundred.
        assert abs(row["estimate"] - QUALITY[dial]) <= 1.5 * (row["high"] - row["low"]) / 2, key
        assert row["section"] == found[key]["section"]
    truth = float(threshold(np.array([0.6, 0.3, log(0.5), 0.0, 0.0])))
    soft, hard = found["threshold_75@soft"], found["threshold_75"]
    assert soft["low"] <= truth <= soft["high"]
    assert soft["high"] / soft["low"] <= hard["high"] / hard["low"]
    assert found["label_mass"]["estimate"] == pytest.approx(0.995)
    assert found["residual_normality"]["estimate"] > 0.995
    assert found["label_mass"]["n"] == 1460
    assert "invalid replies too, smallest 0.000" in found["label_mass"]["method"]
    assert 0.95 < found["label_agreement"]["estimate"] < 1
    assert not any("labels_disagree" in found[key]["flags"] for key in SOFT)


def test_probabilities_by_content_are_refused_and_the_sheet_says_why(command: Command) -> None:
    built(command, design="paper", **QUALITY)
    assert command("log", "export", "X", "log.jsonl").code == 0
    lines = [json.loads(line) for line in Path("log.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in lines:
        if row.get("order") == "ba" and "p_first" in row and "p_second" in row:
            row["p_first"], row["p_second"] = row["p_second"], row["p_first"]
    Path("log.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    run = command("analyze", "log.jsonl", "--out", "Y")
    assert run.code == 0, run.err
    assert "the probabilities are not by slot, as verdicts are" in " ".join(run.out.split())
    page = Path("Y/datasheet.html").read_text(encoding="utf-8")
    assert "where answer a is shown second" in page
    assert "Labels disagree: more than 5% of verdicts have a likelier label in their call" in page
    found = by_key(json.loads(Path("Y/datasheet.json").read_text(encoding="utf-8")))
    assert {found[key]["status"] for key in SOFT} == {"undetermined"}


@pytest.mark.parametrize("dial", ["length", "filler"])
def test_length_and_filler_are_no_soft_resolution(command: Command, dial: str) -> None:
    found = by_key(built(command, sensitivity=0.0, criterion=0.5, position=0.2, **{dial: 4.0}))
    assert found["resolution@soft"]["low"] <= 0 <= found["resolution@soft"]["high"]
    assert found["threshold_75@soft"]["status"] == "undetermined"
    assert found["criterion@soft"]["estimate"] == pytest.approx(0.5, rel=0.1)


def test_where_half_is_censored_hard_verdicts_stand_alone(command: Command) -> None:
    found = by_key(built(command, sensitivity=2.4, criterion=1.1, readout_scale=0.1))
    assert found["censored_share"]["estimate"] > 0.5
    for key in SOFT:
        assert found[key]["status"] == "undetermined"
        assert "hard verdicts say more" in found[key]["reason"]
    assert found["resolution"]["status"] == "measured"


def test_the_readout_changes_no_hard_figure(command: Command) -> None:
    one, other = (by_key(built(command, out=out, **QUALITY, readout_scale=s)) for out, s in (("X", 0.4), ("Y", 2.0)))
    hard = [key for key in one if key not in (*SOFT, *DESCRIBED)]
    assert [one[key] for key in hard] == [other[key] for key in hard]


def test_every_soft_figure_follows_from_the_sheet_and_is_printed(command: Command) -> None:
    sheet = built(command, design="paper", render=True, **QUALITY)
    readings = Readings.from_columns(sheet["readings"])
    found, scope = characterise(readings), scope_of(readings)
    assert sheet["characteristics"] == [characteristic(key, value, scope) for key, value in found.estimates.items()]
    assert {*SOFT, *DESCRIBED} <= by_key(sheet).keys()
    page = Path("X/datasheet.html").read_text(encoding="utf-8")
    pdf = " ".join(" ".join(page.extract_text() for page in PdfReader("X/datasheet.pdf").pages).split())
    for text in (page, pdf):
        for symbol in ("k @soft", "c @soft", "b @soft", "p_label", "r_pp"):
            assert symbol in text


def test_an_exported_log_gives_the_same_soft_figures(command: Command) -> None:
    own = by_key(built(command, design="paper", **QUALITY))
    assert command("log", "export", "X", "log.jsonl").code == 0
    row = json.loads(Path("log.jsonl").read_text(encoding="utf-8").splitlines()[1])
    assert 0 < row["p_floor"] <= row["p_first"] < 1
    run = command("analyze", "log.jsonl", "--json")
    assert run.code == 0, run.err
    found = by_key(json.loads(run.out))
    for key in (*SOFT, *DESCRIBED):
        assert found[key]["estimate"] == pytest.approx(own[key]["estimate"], rel=1e-6)


def test_a_replayed_log_keeps_its_candidates(command: Command) -> None:
    own = by_key(built(command, design="quick", **QUALITY))
    assert command("log", "export", "X", "log.jsonl").code == 0
    run = command("build", "--judge", "replay:log.jsonl", "--prompt", "logprob", "--design", "quick", "--out", "R")
    assert run.code == 0, run.err
    again = by_key(json.loads(Path("R/datasheet.json").read_text(encoding="utf-8")))
    assert [again[key] for key in SOFT] == [own[key] for key in SOFT]


def test_a_server_is_asked_for_the_candidates_of_the_prompt(command: Command) -> None:
    def answer(call: Call) -> Step:
        top = [{"token": token, "logprob": log(share)} for token, share in (("A", 0.6), (" B", 0.3), ("The", 0.01))]
        return Step(json=completion("A", choice={"logprobs": {"content": [{**top[0], "top_logprobs": top}]}}))

    with LoopbackServer(answer) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        arguments = ("--prompt", "logprob", "--design", "quick", "--out", "X", "--no-render")
        assert command("build", "--judge", judge, *arguments).code == 0
        assert {(call.body["logprobs"], call.body["top_logprobs"]) for call in server.calls} == {(True, 20)}
    with TrialLog.read("X/trials.sqlite") as log_file:
        assert {reply.reply.logprobs[0][0] for reply in log_file.readings()} == {"A"}
    found = by_key(json.loads(Path("X/datasheet.json").read_text(encoding="utf-8")))
    assert found["label_mass"]["estimate"] == pytest.approx(0.9)
    assert found["resolution@soft"]["status"] == "undetermined"


def test_a_server_that_lists_no_candidates_is_named_in_the_notes(command: Command) -> None:
    with LoopbackServer(lambda call: Step(json=completion("A"))) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        arguments = ("--prompt", "logprob", "--design", "quick", "--out", "X", "--no-render")
        assert command("build", "--judge", judge, *arguments).code == 0
    sheet = json.loads(Path("X/datasheet.json").read_text(encoding="utf-8"))
    assert any(note.startswith("110 of 110 replies list no candidates that can be read") for note in sheet["notes"])
    assert not {*SOFT, *DESCRIBED} & by_key(sheet).keys()


def test_other_prompts_have_no_soft_figures(command: Command) -> None:
    assert command("build", "--design", "quick", "--out", "X", "--no-render").code == 0
    sheet = json.loads(Path("X/datasheet.json").read_text(encoding="utf-8"))
    assert "labels" not in sheet["readings"]
    assert not {*SOFT, *DESCRIBED} & by_key(sheet).keys()
