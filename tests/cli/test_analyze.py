"""`datasheet analyze`: the published figures from their logs, and the outcome of every odd log."""

from __future__ import annotations

import json
import os
import random
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import Command
from published import PUBLISHED, QWEN32B, STRICT_TIE
from verdict_files import verdict_row, write_verdicts

from datasheet.readings import ReadingRow
from datasheet.sheet.schema import load_sheet

LOG = Path("verdicts.jsonl")


def analysed(command: Command, rows: list[ReadingRow], **header: Any) -> dict[str, Any]:
    write_verdicts(LOG, [verdict_row(row) for row in rows], header or None)
    run = command("analyze", LOG, "--json")
    assert run.code == 0, run.err
    return load_sheet(run.out.encode(), "stdout")


def by_key(sheet: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["key"]: row for row in sheet["characteristics"]}


@pytest.mark.parametrize("judge", sorted(PUBLISHED))
@pytest.mark.parametrize("permuted", [False, True])
def test_published_figures(command: Command, judge: str, permuted: bool) -> None:
    rows, dark, raw, scs, pfp, osc, none, threshold, profile, letter = PUBLISHED[judge]
    if permuted:
        rows = random.Random(1).sample(rows, len(rows))
    sheet = analysed(command, rows, judge=judge, ties_allowed=True)
    found = by_key(sheet)
    expected = {
        "dark_current": dark,
        "raw_false_preference": raw,
        "stable_cross_sensitivity": scs,
        "positional_false_preference": pfp,
        "one_sided_commitment": osc,
        "no_preference": none,
    }
    for key, figure in expected.items():
        assert f"{found[key]['estimate']:.3f}" == f"{figure:.3f}", key
    shown = found["threshold_75_empirical"]
    assert (f"≤ {shown['high']}" if shown["status"] == "bounded" else shown["estimate"]) == threshold
    assert (sheet["profile"]["name"], sheet["profile"]["class"]) == (profile, letter)
    assert sheet["notes"] == []


def test_the_strict_tie_log_gives_its_row(command: Command) -> None:
    default, strict = (by_key(analysed(command, rows, ties_allowed=True)) for rows in (QWEN32B, STRICT_TIE))
    assert f"{default['raw_false_preference']['estimate']:.3f}" == "0.258"
    assert strict["raw_false_preference"]["estimate"] == 0
    assert (default["p_correct_1"]["estimate"], strict["p_correct_1"]["estimate"]) == (0.94, 0.5)
    assert (default["wrong_choice_1"]["estimate"], strict["wrong_choice_1"]["estimate"]) == (0, 0)
    assert strict["miss_by_tie_1"]["estimate"] == 0.5
    assert strict["accuracy_non_ties_1"]["estimate"] == 1
    assert (default["p_correct_5"]["estimate"], strict["p_correct_5"]["estimate"]) == (1, 1)


def test_permuted_rows_give_the_same_bytes(command: Command) -> None:
    first = analysed(command, QWEN32B, ties_allowed=True)
    assert analysed(command, random.Random(3).sample(QWEN32B, len(QWEN32B)), ties_allowed=True) == first


def test_other_counts_give_other_figures(command: Command) -> None:
    rows = [replace(row, outcome="tie") if row.probe == "ladder" and row.delta_q == 1 else row for row in QWEN32B]
    found = by_key(analysed(command, rows))
    assert found["p_correct_1"]["estimate"] == 0
    assert (found["threshold_75_empirical"]["status"], found["threshold_75_empirical"]["estimate"]) == ("measured", 2)


def test_without_ties_allowed_the_sheet_says_what_it_assumed(command: Command) -> None:
    sheet = analysed(command, QWEN32B)
    assert any("ties_allowed true" in note for note in sheet["notes"])


def test_a_prompt_without_ties(command: Command) -> None:
    rows = [row for row in PUBLISHED["llama8b"][0] if row.outcome != "tie"]
    found = by_key(analysed(command, rows, ties_allowed=False))
    for key in ("dark_current", "raw_false_preference", "no_preference", "one_sided_commitment", "criterion"):
        assert found[key]["status"] == "not_applicable"
    assert found["positional_false_preference"]["status"] == "measured"


def test_all_ties(command: Command) -> None:
    rows = [replace(row, outcome="tie") for row in QWEN32B]
    found = by_key(analysed(command, rows, ties_allowed=True))
    assert found["no_preference"]["estimate"] == 1
    assert (found["threshold_75_empirical"]["status"], found["threshold_75_empirical"]["low"]) == ("bounded", 5)


def test_one_order(command: Command) -> None:
    found = by_key(analysed(command, [row for row in QWEN32B if row.order == "ab"], ties_allowed=True))
    for key in ("stable_cross_sensitivity", "positional_false_preference", "raw_false_preference"):
        assert found[key]["status"] == "not_measured"
        assert "needs both orders" in found[key]["reason"]


def test_all_invalid_concludes_nothing(command: Command) -> None:
    write_verdicts(LOG, [verdict_row(replace(row, outcome=None, invalid="refusal")) for row in QWEN32B])
    run = command("analyze", LOG)
    assert run.code == 3
    assert "Nothing could be concluded" in run.err


def test_two_judges_need_a_choice(command: Command) -> None:
    write_verdicts(
        LOG,
        [verdict_row(row, judge="one") for row in QWEN32B] + [verdict_row(row, judge="two") for row in STRICT_TIE],
    )
    refused = command("analyze", LOG)
    assert refused.code == 2
    assert "one, two" in refused.err
    assert "--judge" in refused.err
    chosen = command("analyze", LOG, "--judge", "two", "--json")
    assert chosen.code == 0
    assert by_key(json.loads(chosen.out))["p_correct_1"]["estimate"] == 0.5


ROW = {"pair": "p", "order": "ab", "verdict": "first", "probe": "vacuum"}
REFUSED = [
    ("", "is empty"),
    ("\n\n", "is empty"),
    ("{'pair': 1}\n", "(single quotes?"),
    ("[1]\n", "line 1: expected a JSON object"),
    (json.dumps(ROW) + "\n\n{broken\n", "line 3: not "),
    (json.dumps(ROW | {"verdict": "A"}), "'verdict' should be one of first, tie, second, found 'A'"),
    (json.dumps({key: ROW[key] for key in ("pair", "order", "probe")}), "'verdict' is missing"),
    (json.dumps(ROW | {"order": "AB"}), "'order' should be one of ab, ba"),
    (json.dumps(ROW | {"probe": "latter"}), "'probe' should be one of"),
    (json.dumps(ROW | {"repeat": -1}), "'repeat' should be a whole number"),
    (json.dumps(ROW | {"repeat": True}), "'repeat' should be a whole number"),
    (json.dumps(ROW | {"length_a": "long"}), "'length_a' should be a length"),
    ('{"pair": "p", "order": "ab", "verdict": "first", "probe": "vacuum", "length_a": NaN}', "not JSON"),
    (json.dumps(ROW | {"invalid": "refusal"}), "is marked invalid"),
    (json.dumps(ROW | {"ties_allowed": "yes"}), "'ties_allowed' should be true or false"),
    (json.dumps(ROW | {"probe": "ladder"}), "needs delta_q of 1 or more"),
    (json.dumps(ROW | {"probe": "ladder", "level_a": 1, "level_b": 3}), "answer a must be the better one"),
    (json.dumps(ROW | {"probe": "ladder", "delta_q": 1, "level_a": 3, "level_b": 1}), "is not level_a - level_b"),
    (json.dumps(ROW) + "\n" + json.dumps(ROW | {"verdict": "tie"}), "lines 1 and 2 give the same reading twice"),
    (json.dumps(ROW) + "\n" + json.dumps(ROW | {"order": "ba", "task": "other"}), "lines 1 and 2 describe pair"),
    (
        json.dumps(ROW | {"ties_allowed": True}) + "\n" + json.dumps(ROW | {"pair": "q", "ties_allowed": False}),
        "lines 1 and 2 differ in 'ties_allowed'",
    ),
    (json.dumps(ROW | {"verdict": "tie", "ties_allowed": False}), "line 1: the verdict is a tie"),
    ('{"format": "something-else"}\n' + json.dumps(ROW), "expected format"),
    ('{"format": "judge-datasheet-verdicts", "version": 99}\n' + json.dumps(ROW), "reads format version 1"),
    ('{"format": "judge-datasheet-verdicts", "version": 1}\n', "holds no reading"),
    ("[" * 100_000, "line 1: "),
]


@pytest.mark.parametrize(("text", "complaint"), REFUSED)
def test_a_bad_log_is_refused_with_its_line(command: Command, text: str, complaint: str) -> None:
    LOG.write_text(text, encoding="utf-8")
    run = command("analyze", LOG)
    assert run.code == 2
    assert complaint in run.err
    assert run.out == ""


def test_not_utf8_and_no_file(command: Command) -> None:
    LOG.write_bytes(b'{"pair": "\xff"}\n')
    assert "not UTF-8" in command("analyze", LOG).err
    missing = command("analyze", "nowhere.jsonl")
    assert missing.code == 2
    assert "can't be read" in missing.err


def test_records_split_on_newlines_only(command: Command) -> None:
    """A line separator inside a JSON text is not the end of a record; a byte-order mark is no part of one."""
    text = "\ufeff" + json.dumps(ROW | {"raw": "one\u2028two\u2029three\x85four"}, ensure_ascii=False) + "\n"
    LOG.write_text(text, encoding="utf-8", newline="\n")
    assert command("analyze", LOG).code == 0


def test_json_on_stdout_is_the_json_alone(command: Command) -> None:
    write_verdicts(LOG, [verdict_row(row) for row in QWEN32B])
    run = command("analyze", LOG, "--json", "--out", "sheet")
    assert run.code == 0
    assert json.loads(run.out) == json.loads(Path("sheet/datasheet.json").read_text(encoding="utf-8"))
    assert Path("sheet/datasheet.pdf").read_bytes()[:5] == b"%PDF-"


def test_hostile_text_in_a_log_does_not_act_in_the_terminal(command: Command) -> None:
    LOG.write_text(json.dumps(ROW | {"verdict": "\x1b[2J\u202eevil"}, ensure_ascii=False), encoding="utf-8")
    run = command("analyze", LOG)
    assert run.code == 2
    assert "\x1b" not in run.err
    assert "\u202e" not in run.err


def test_a_log_through_a_pipe_is_read_whole(command: Command) -> None:
    write_verdicts(LOG, [verdict_row(row) for row in QWEN32B], {"judge": "piped", "ties_allowed": True})
    expected = command("analyze", LOG, "--json")
    os.mkfifo("pipe.jsonl")
    threading.Thread(target=lambda: Path("pipe.jsonl").write_bytes(LOG.read_bytes()), daemon=True).start()
    found = command("analyze", "pipe.jsonl", "--json")
    assert found.code == 0, found.err
    assert json.loads(found.out)["characteristics"] == json.loads(expected.out)["characteristics"]


def test_a_limit_of_0_is_a_limit(command: Command) -> None:
    """Of the neutral criterion, which is then 0, nothing can be tested."""
    write_verdicts(LOG, [verdict_row(row) for row in QWEN32B], {"judge": "m", "ties_allowed": True})
    Path("datasheet.toml").write_text("[limits]\nconservative = 0\n")
    run = command("analyze", LOG, "--json")
    assert run.code == 0, run.err
    tested = [row["p"] for row in json.loads(run.out)["hypotheses"] if row["key"] == "criterion"]
    assert tested == [None]
