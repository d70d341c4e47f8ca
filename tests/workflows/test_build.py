"""`datasheet build`: from a task bank to documents, twice, interrupted, refused."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from command import Command
from loopback import Call, LoopbackServer, Step, completion, failure, verdict
from pypdf import PdfReader

from datasheet.analysis.characterise import characterise
from datasheet.readings import Readings
from datasheet.sheet.build import characteristic
from datasheet.sheet.schema import load_sheet
from datasheet.sheet.scope import scope_of
from datasheet.trials.log import TrialLog
from datasheet.trials.retry_policy import RetryPolicy

QUICK_CALLS = 110


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def sheet_in(folder: Path | str) -> dict[str, object]:
    return load_sheet((Path(folder) / "datasheet.json").read_bytes(), "datasheet.json")


def answer_a(call: Call) -> Step:
    return verdict('{"verdict": "A"}')


def test_the_default_build_is_a_stamped_simulated_sheet(command: Command) -> None:
    run = command("build", "--out", "sheet")
    assert run.code == 0, run.err
    assert set(bytes_of(Path("sheet"))) >= {"datasheet.json", "datasheet.html", "datasheet.pdf", "trials.sqlite"}
    sheet = sheet_in("sheet")
    assert sheet["judge"]["simulated"] is True  # type: ignore[index]
    assert sheet["design"] == {  # type: ignore[comparison-overlap]
        "name": "standard",
        "seed": 0,
        "repeats": None,
        "planned": 1460,
        "answered": 1460,
        "unanswered": 0,
    }
    pages = PdfReader("sheet/datasheet.pdf").pages
    assert 2 <= len(pages) <= 5
    assert all("SIMULATED" in page.extract_text() for page in pages)
    assert "SIMULATED" in Path("sheet/datasheet.html").read_text(encoding="utf-8")


def test_every_figure_follows_from_the_embedded_readings(command: Command) -> None:
    command("build", "--design", "quick", "--out", "sheet", "--no-render")
    sheet = sheet_in("sheet")
    readings = Readings.from_columns(sheet["readings"])  # type: ignore[arg-type]
    found, scope = characterise(readings), scope_of(readings)
    assert sheet["characteristics"] == [characteristic(key, value, scope) for key, value in found.estimates.items()]
    assert sheet["profile"]["name"] == found.profile.name  # type: ignore[index]


def test_a_second_build_makes_no_call_and_changes_no_byte(command: Command) -> None:
    with LoopbackServer(answer_a) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        first = command("build", "--judge", judge, "--design", "paper", "--out", "X", "--concurrency", 32)
        assert first.code == 0, first.err
        calls, before = len(server.calls), bytes_of(Path("X"))
        assert calls == 450
        second = command("build", "--judge", judge, "--design", "paper", "--out", "X")
        assert second.code == 0
        assert (len(server.calls), len(server.model_calls)) == (calls, 1)
    assert bytes_of(Path("X")) == before
    assert "450 of them already" in second.err


def test_two_builds_of_one_plan_give_the_same_documents(command: Command) -> None:
    for folder in ("one", "two"):
        assert command("build", "--design", "quick", "--out", folder).code == 0
    one, two = sheet_in("one"), sheet_in("two")
    for timed in ("operation", "provenance"):
        one.pop(timed), two.pop(timed)
    assert one == two


def test_a_larger_design_asks_only_what_is_new(command: Command) -> None:
    with LoopbackServer(answer_a) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        command("build", "--judge", judge, "--design", "quick", "--out", "X", "--no-render", "--concurrency", 32)
        command("build", "--judge", judge, "--design", "paper", "--out", "X", "--no-render", "--concurrency", 32)
        bodies = [json.dumps(call.body, sort_keys=True) for call in server.calls]
    assert len(bodies) == 450
    assert sheet_in("X")["design"]["answered"] == 450  # type: ignore[index]


def test_another_instrument_in_the_same_folder_is_refused(command: Command) -> None:
    assert command("build", "--design", "quick", "--out", "X", "--no-render").code == 0
    before = bytes_of(Path("X"))
    refused = command("build", "--design", "quick", "--prompt", "strict-tie", "--out", "X", "--no-render")
    assert refused.code == 2
    assert "prompt: 'default' in the log, 'strict-tie' now" in refused.err
    assert "--fresh" in refused.err
    assert bytes_of(Path("X")) == before
    fresh = command("build", "--design", "quick", "--prompt", "strict-tie", "--out", "X", "--no-render", "--fresh")
    assert fresh.code == 0
    with TrialLog.read("X/trials.old1.sqlite") as old:
        assert len(old.answered()) == QUICK_CALLS


def test_several_prompts_make_a_folder_each(command: Command) -> None:
    run = command("build", "--design", "quick", "--prompt", "default", "--prompt", "forced-choice", "--out", "X")
    assert run.code == 0
    folders = sorted(path.name for path in Path("X").iterdir())
    assert folders == ["sim-careful_default", "sim-careful_forced-choice"]
    sheet = sheet_in("X/sim-careful_forced-choice")
    statuses = {row["key"]: row["status"] for row in sheet["characteristics"]}  # type: ignore[attr-defined]
    assert statuses["dark_current"] == "not_applicable"
    assert statuses["position_log_odds"] in ("measured", "bounded")


def test_a_coin_flip_observer_is_noisy(command: Command) -> None:
    assert command("build", "--judge", "sim:coin-flip", "--out", "X", "--no-render").code == 0
    assert sheet_in("X")["profile"]["name"] == "noisy"  # type: ignore[index]


@pytest.mark.parametrize(
    ("observer", "profile"),
    [
        ("vacuum-clean", "vacuum-clean"),
        ("first-slot", "presentation-conflicted"),
        ("length-lover", None),
        ("always-tie", "insensitive"),
    ],
)
def test_observers_show_what_they_are(command: Command, observer: str, profile: str | None) -> None:
    assert command("build", "--judge", f"sim:{observer}", "--out", "X", "--no-render").code == 0
    sheet = sheet_in("X")
    if profile is not None:
        assert sheet["profile"]["name"] == profile  # type: ignore[index]
        return
    found = {row["key"]: row["estimate"] for row in sheet["characteristics"]}  # type: ignore[attr-defined]
    assert found["p_correct_3"] > 0.9
    assert found["p_correct_1@wordy_better"] > 0.8
    assert found["p_correct_1@filled_longer"] < 0.2


def test_a_judge_that_never_gives_a_reading_concludes_nothing(command: Command) -> None:
    run = command("build", "--judge", "sim:never-valid", "--design", "quick", "--out", "X", "--no-render")
    assert run.code == 3
    assert "Nothing could be concluded" in run.err
    assert sheet_in("X")["validity"]["valid"] == 0  # type: ignore[index]


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries without waiting."""
    monkeypatch.setattr(RetryPolicy, "wait_s", lambda policy, attempt, rng: 0.0)


@pytest.mark.usefixtures("_impatient")
def test_no_call_succeeds(command: Command) -> None:
    with LoopbackServer([failure(500, "down")]) as server:
        run = command("build", "--judge", f"openai:fake-judge@{server.base_url}", "--design", "quick", "--out", "X")
    assert run.code == 2
    assert "server_error" in run.err or "server error" in run.err
    assert not Path("X/datasheet.json").exists()


@pytest.mark.usefixtures("_impatient")
def test_some_calls_fail_and_the_next_build_asks_them_again(command: Command) -> None:
    broken = True

    def script(call: Call) -> Step:
        shown = json.dumps(call.body)
        if broken and "bulbs" in shown:
            return failure(500, "down")
        return verdict('{"verdict": "A"}')

    with LoopbackServer(script) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        first = command("build", "--judge", judge, "--out", "X", "--concurrency", 32)
        sheet = sheet_in("X")
        missing = sheet["design"]["unanswered"]  # type: ignore[index]
        assert first.code == 4
        assert 0 < missing < 200
        assert f"{missing} trials have no reply" in first.err
        assert any(f"{missing} of 1460 planned trials have no reply" in note for note in sheet["notes"])  # type: ignore[attr-defined]
        broken = False
        before = len(server.calls)
        second = command("build", "--judge", judge, "--out", "X", "--concurrency", 32)
        assert second.code == 0
        assert len(server.calls) - before == missing
    assert sheet_in("X")["design"]["unanswered"] == 0  # type: ignore[index]


def test_a_long_retry_after_pauses_the_run(command: Command) -> None:
    steps = [verdict('{"verdict": "A"}')] * 5 + [failure(429, "come back later", headers={"Retry-After": "10800"})]
    with LoopbackServer(steps) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        run = command("build", "--judge", judge, "--design", "quick", "--out", "X", "--concurrency", 1)
        assert len(server.calls) == 6
    assert run.code == 4
    assert "Paused" in run.err
    assert "Come back after" in run.err
    with TrialLog.read("X/trials.sqlite") as log:
        assert len(log.answered()) == 5


def test_filtered_stimuli_are_counted_and_not_asked_again(command: Command) -> None:
    def script(call: Call) -> Step:
        if "quiz" in json.dumps(call.body):
            return failure(400, "The prompt was filtered.", code="content_filter", param="prompt")
        return verdict('{"verdict": "A"}')

    with LoopbackServer(script) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        run = command("build", "--judge", judge, "--design", "quick", "--out", "X", "--concurrency", 16)
        assert run.code == 0, run.err
        assert len(server.calls) == QUICK_CALLS
    sheet = sheet_in("X")
    assert sheet["validity"]["invalid"]["filtered"] > 0  # type: ignore[index]
    assert sheet["design"]["unanswered"] == 0  # type: ignore[index]


def test_possible_prompt_truncation_is_told(command: Command) -> None:
    """The server counts the same 2,050 prompt tokens whatever it is sent."""
    with LoopbackServer(answer_a) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        command("build", "--judge", judge, "--design", "quick", "--out", "X", "--no-render", "--concurrency", 16)
    assert any("Possible prompt truncation" in note for note in sheet_in("X")["notes"])  # type: ignore[attr-defined]


def test_prose_instead_of_json_is_told(command: Command) -> None:
    with LoopbackServer([verdict("Sure! Both have their charm.")]) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        command("build", "--judge", judge, "--design", "quick", "--out", "X", "--no-render", "--concurrency", 16)
    sheet = sheet_in("X")
    assert sheet["validity"]["invalid"] == {"no_verdict": QUICK_CALLS}  # type: ignore[index]
    assert any("are not the JSON that the prompt asks for" in note for note in sheet["notes"])  # type: ignore[attr-defined]


def test_a_changed_model_midway_stops_the_run(command: Command) -> None:
    def script(call: Call) -> Step:
        name = "fake-judge" if call.number < 10 else "another-model"
        return Step(json={**completion('{"verdict": "A"}'), "model": name})

    with LoopbackServer(script) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        run = command("build", "--judge", judge, "--design", "quick", "--out", "X", "--concurrency", 1)
    assert run.code == 2
    assert "another-model" in run.err
    assert "fake-judge" in run.err


def test_missing_pango_leaves_html_and_json(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def without_pango(name: str, package: str | None = None) -> object:
        if name.split(".")[0] == "weasyprint":
            raise OSError("cannot load library 'libpango-1.0-0'")
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", without_pango)
    run = command("build", "--design", "quick", "--out", "X")
    assert run.code == 2
    assert "libpango-1.0-0" in run.err
    assert {"datasheet.json", "datasheet.html"} <= set(bytes_of(Path("X")))
    assert "datasheet.pdf" not in bytes_of(Path("X"))


def test_an_own_bank_with_faults_is_refused_before_any_call(command: Command, tmp_path: Path) -> None:
    Path("bank.toml").write_text('format = "judge-datasheet-bank"\nversion = 1\nname = "x"\n', encoding="utf-8")
    with LoopbackServer(answer_a) as server:
        judge = f"openai:fake-judge@{server.base_url}"
        run = command("build", "--judge", judge, "--bank", "bank.toml", "--out", "X")
        assert run.code == 2
        assert server.calls == []
    assert "bank.toml" in run.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--judge", "opneai:fake-judge"), "no judge 'opneai:fake-judge'"),
        (("--judge", "sim:nobody"), "no simulated observer 'nobody'"),
        (("--prompt", "nope"), "no prompt variant 'nope'"),
        (("--design", "huge"), "huge"),
        (("--bank", "klingon"), "klingon"),
        (("--concurrency", "0"), "concurrency"),
        (("--judge", "sim:careful", "--judge", "sim:careful"), "named twice"),
        (("--judge", "replay:nowhere.jsonl"), "nowhere.jsonl"),
    ],
)
def test_what_does_not_exist_is_named(command: Command, arguments: tuple[str, ...], complaint: str) -> None:
    run = command("build", *arguments, "--out", "X")
    assert run.code == 2
    assert complaint in run.err
    assert not Path("X").exists()


def test_replay_of_an_export_gives_the_same_sheet(command: Command) -> None:
    command("build", "--design", "quick", "--out", "X", "--no-render")
    assert command("log", "export", "X", "verdicts.jsonl").code == 0
    run = command("build", "--judge", "replay:verdicts.jsonl", "--design", "quick", "--out", "Y", "--no-render")
    assert run.code == 0, run.err
    first, replayed = sheet_in("X"), sheet_in("Y")
    for key in ("characteristics", "readings", "profile", "curves", "decomposition", "validity"):
        assert replayed[key] == first[key], key
    assert replayed["judge"]["judge_id"] == first["judge"]["judge_id"]  # type: ignore[index]
    analysed = json.loads(command("analyze", "verdicts.jsonl", "--json").out)
    again = json.loads(command("analyze", "X", "--json").out)
    for key in ("characteristics", "readings", "profile"):
        assert analysed[key] == again[key] == first[key], key


def test_replay_with_another_plan_says_so(command: Command) -> None:
    command("build", "--design", "quick", "--out", "X", "--no-render")
    command("log", "export", "X", "verdicts.jsonl")
    run = command("build", "--judge", "replay:verdicts.jsonl", "--design", "paper", "--out", "Y", "--no-render")
    assert run.code == 2
    assert "has no reply for a presentation of this plan" in run.err
    command("log", "export", "X", "bare.jsonl", "--no-raw")
    refused = command("build", "--judge", "replay:bare.jsonl", "--design", "quick", "--out", "Z")
    assert refused.code == 2
    assert "can't be replayed without the fields" in refused.err
