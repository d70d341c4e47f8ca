"""Keys go to their host only and appear nowhere; a file in the working folder runs nothing and sends no key."""

from __future__ import annotations

import json
import socket
import ssl
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import trustme
from command import Command
from loopback import Call, LoopbackServer, Step, message, verdict

from datasheet.config import user_folder
from datasheet.stimulus.design import DESIGNS

KEY = "sk-test-DO-NOT-STORE-1234567890"


def echoing(call: Call) -> Step:
    """Refuses now and then with all that it was sent, headers and key, in the error."""
    if call.number % 7 == 3:
        return Step(status=500, json={"error": {"message": f"bad request: {dict(call.headers)}", "type": "server"}})
    return verdict('{"verdict": "A"}')


def user_config(text: str) -> None:
    user_folder().mkdir(parents=True, exist_ok=True)
    (user_folder() / "datasheet.toml").write_text(text, encoding="utf-8")


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_key_reaches_its_host_and_nothing_else(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with LoopbackServer(echoing) as server:
        user_config(
            f'[judge.mine]\nadapter = "openai"\nmodel = "fake-judge"\nurl = "{server.base_url}?api-key={KEY}"\n'
            '[keys]\nMY_KEY = ["127.0.0.1"]\n'
        )
        runs = [
            command("build", "--judge", "mine", "--design", "quick", "--out", "X", "--concurrency", 8),
            command("judges", "list"),
            command("judges", "show", "mine"),
            command("judges", "check", "mine"),
            command("log", "export", "X", "verdicts.jsonl"),
            command("show", "X"),
            command("show", "X", "--json"),
            command("analyze", "X", "--json"),
        ]
        assert server.calls
        assert all(call.headers.get("Authorization") == f"Bearer {KEY}" for call in server.calls)
    codes = [run.code for run in runs]
    assert codes[:3] + codes[4:] == [0] * 7, [run.err for run in runs]
    assert "[key]" in runs[3].err, "the probe calls met the server's echo"
    printed = "".join(run.out + run.err for run in runs)
    assert KEY not in printed
    assert KEY.encode() not in everything(Path())


def test_a_refused_key_is_not_echoed(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LoopbackServer(
        [Step(status=401, json={"error": {"message": f"Incorrect API key provided: {KEY}"}})]
    ) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        run = command("build", "--judge", "openai:fake-judge", "--design", "quick", "--out", "X")
    assert run.code == 2
    assert "OPENAI_API_KEY" in run.err
    assert KEY not in run.out + run.err
    assert KEY.encode() not in everything(Path())


def test_a_redirect_takes_no_key_along(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LoopbackServer([verdict('{"verdict": "A"}')]) as thief:
        moved = Step(status=307, headers={"Location": f"{thief.base_url}/chat/completions"}, text="")
        with LoopbackServer([moved]) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            run = command("build", "--judge", "openai:fake-judge", "--design", "quick", "--out", "X")
        assert thief.calls == []
    assert run.code == 2


def test_a_found_file_can_not_send_a_key_elsewhere(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LoopbackServer([verdict('{"verdict": "A"}')]) as thief:
        Path("datasheet.toml").write_text(
            f'[judge.qwen32b]\nadapter = "openai"\nmodel = "fake-judge"\nurl = "{thief.base_url}"\n'
            'api_key_env = "OPENAI_API_KEY"\n',
            encoding="utf-8",
        )
        run = command("build", "--judge", "qwen32b", "--design", "quick", "--out", "X")
        assert run.code == 2
        assert "would send the key in OPENAI_API_KEY to 127.0.0.1" in run.err
        assert (thief.calls, thief.model_calls) == ([], [])

        Path("datasheet.toml").write_text(
            f'[judge.qwen32b]\nadapter = "openai"\nmodel = "fake-judge"\nurl = "{thief.base_url}"\n', encoding="utf-8"
        )
        run = command("build", "--judge", "qwen32b", "--design", "quick", "--out", "X")
        assert run.code == 0, run.err
        assert all("Authorization" not in call.headers for call in (*thief.calls, *thief.model_calls))


def test_a_found_file_can_not_bind_keys(command: Command) -> None:
    Path("datasheet.toml").write_text('[keys]\nOPENAI_API_KEY = ["evil.example"]\n', encoding="utf-8")
    run = command("judges", "list")
    assert run.code == 2
    assert "says where keys go" in run.err


EVIL = {
    "command": 'command = "touch pwned"',
    "python": 'function = "evil:judge"',
    "local": 'file = "evil.gguf"',
    "adapter-of-a-package": 'model = "evil"',
}


@pytest.mark.parametrize("adapter", EVIL)
def test_a_found_file_can_not_define_a_judge_that_runs_code(command: Command, adapter: str) -> None:
    Path("evil.py").write_text("open('pwned', 'w')\ndef judge(asked): return 'A'\n", encoding="utf-8")
    Path("datasheet.toml").write_text(f'[judge.evil]\nadapter = "{adapter}"\n{EVIL[adapter]}\n', encoding="utf-8")
    for arguments in (("build", "--out", "X"), ("judges", "list"), ("judges", "check", "evil"), ("log", "verify", "X")):
        run = command(*arguments)
        assert run.code == 2
        assert "would run code" in run.err or arguments[0] == "log"
    assert not Path("pwned").exists()


LONGER = """
import json, sys

def judge(asked):
    first, second = len(asked["first"]), len(asked["second"])
    return {"verdict": "tie" if first == second else "A" if first > second else "B"}

if __name__ == "__main__":
    print(json.dumps(judge(json.loads(sys.stdin.read()))))
"""


@pytest.mark.parametrize("adapter", ["command", "python"])
@pytest.mark.parametrize("named", ["on the command line", "in the user's own file", "in a named file"])
def test_whoever_is_trusted_may_define_a_judge_that_runs_code(
    command: Command, monkeypatch: pytest.MonkeyPatch, adapter: str, named: str
) -> None:
    """Ten of its judgements are enough here: a design of one task."""
    module = f"longer_{adapter}_{len(named)}"
    Path(f"{module}.py").write_text(LONGER, encoding="utf-8")
    what = {"command": f"{sys.executable} {module}.py", "python": f"{module}:judge"}[adapter]
    setting = {"command": "command", "python": "function"}[adapter]
    table = f'[judge.mine]\nadapter = "{adapter}"\n{setting} = "{what}"\n'
    arguments = ["--judge", "mine"]
    if named == "on the command line":
        arguments = ["--judge", f"{adapter}:{what}"]
    elif named == "in a named file":
        Path("mine.toml").write_text(table, encoding="utf-8")
        arguments += ["--config", "mine.toml"]
    else:
        user_config(table)
    if named != "on the command line":
        monkeypatch.syspath_prepend(Path().resolve())  # only what is named on the command line is looked for here
    monkeypatch.setitem(DESIGNS, "quick", replace(DESIGNS["quick"], n_tasks=1))
    run = command("build", *arguments, "--design", "quick", "--out", "X", "--no-render")
    assert run.code == 0, run.err
    sheet = json.loads(Path("X/datasheet.json").read_text(encoding="utf-8"))
    assert (sheet["judge"]["adapter"], sheet["judge"]["simulated"]) == (adapter, False)
    estimates = {row["key"]: row["estimate"] for row in sheet["characteristics"]}
    assert (estimates["dark_current"], estimates["p_correct_3"]) in ((0.0, 1.0), (0.0, None))
    assert sheet["validity"]["valid"] == sheet["validity"]["readings"]


def test_a_configured_function_is_not_looked_for_in_the_working_folder(command: Command) -> None:
    """Else a clone could bring the module that the user's own configuration names."""
    Path("my_judge_elsewhere.py").write_text("open('pwned', 'w')\n", encoding="utf-8")
    user_config('[judge.mine]\nadapter = "python"\nfunction = "my_judge_elsewhere:judge"\n')
    run = command("build", "--judge", "mine", "--design", "quick", "--out", "X")
    assert run.code == 2
    assert "can't be imported" in run.err
    assert not Path("pwned").exists()


def test_a_found_file_can_not_say_whose_certificates_are_trusted(command: Command) -> None:
    Path("datasheet.toml").write_text(
        '[judge.x]\nadapter = "openai"\nmodel = "m"\nurl = "https://api.openai.com/v1"\ntls = {verify = false}\n',
        encoding="utf-8",
    )
    run = command("build", "--judge", "x", "--out", "X")
    assert run.code == 2
    assert "says whose certificates are trusted" in run.err


def test_a_server_that_was_not_verified_is_said_first_of_all(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DESIGNS, "quick", replace(DESIGNS["quick"], n_tasks=2))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("other.example").configure_cert(context)
    with LoopbackServer([verdict('{"verdict": "A"}')], tls=context) as server:
        user_config(
            f'[judge.x]\nadapter = "openai"\nmodel = "fake-judge"\nurl = "{server.base_url}"\n'
            "tls = {verify = false}\n"
        )
        run = command("build", "--judge", "x", "--design", "quick", "--out", "X")
    assert run.code == 0, run.err
    sheet = json.loads(Path("X/datasheet.json").read_text(encoding="utf-8"))
    assert sheet["summary"]["sentence"].startswith("UNVERIFIED SERVER: its certificate was not checked")
    assert sheet["judge"]["decoding"]["certificate_verified"] is False
    assert sheet["provenance"]["tls"] == "the server's certificate was not verified"
    for told in (run.err, command("show", "X").out, Path("X/datasheet.html").read_text(encoding="utf-8")):
        assert "UNVERIFIED SERVER" in told


def test_a_key_of_one_api_goes_to_no_other_server(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    hosted = json.loads(command("judges", "show", "anthropic:m", "--json").out)
    assert (hosted["base_url"], hosted["api_key_env"]) == ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY")
    with LoopbackServer([Step(json=message({"type": "text", "text": '{"verdict": "A"}'}))]) as server:
        judge = f"anthropic:fake-judge@{server.base_url}"
        run = command("build", "--judge", judge, "--design", "quick", "--out", "X", "--no-render")
        assert run.code == 0, run.err
        assert not any(KEY in str(dict(call.headers)) for call in (*server.calls, *server.model_calls))
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        run = command("build", "--judge", "anthropic:fake-judge", "--design", "quick", "--out", "Y", "--no-render")
        assert run.code == 0, run.err
        assert server.calls[-1].headers["x-api-key"] == KEY
    assert KEY.encode() not in everything(Path())


def test_a_named_file_may_send_a_key(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with LoopbackServer([verdict('{"verdict": "A"}')]) as server:
        Path("mine.toml").write_text(
            f'[judge.mine]\nadapter = "openai"\nmodel = "fake-judge"\nurl = "{server.base_url}"\n'
            'api_key_env = "MY_KEY"\n',
            encoding="utf-8",
        )
        run = command("build", "--judge", "mine", "--config", "mine.toml", "--design", "quick", "--out", "X")
        assert run.code == 0, run.err
        assert server.calls[0].headers["Authorization"] == f"Bearer {KEY}"


def test_no_server_is_one_sentence_before_any_stimulus(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "http://127.0.0.1:8000/v1" in command("judges", "show", "qwen32b").out
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    monkeypatch.setattr("datasheet.judge.served.LOCAL_URL", url)
    run = command("build", "--judge", "qwen32b", "--out", "X")
    assert run.code == 2
    (line,) = [line for line in run.err.splitlines() if line.startswith("Error")]
    assert url in line
    assert "start" in line
    assert "openai:" in line
    assert not Path("X").exists()


def test_a_redirect_takes_no_key_of_any_header_along(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with LoopbackServer([verdict('{"verdict": "A"}')]) as thief:
        moved = Step(status=308, headers={"Location": f"{thief.base_url}/messages"}, text="")
        with LoopbackServer([moved]) as server:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
            run = command("build", "--judge", "anthropic:fake-judge", "--design", "quick", "--out", "X")
        assert (thief.calls, thief.model_calls) == ([], [])
    assert run.code == 2
    assert KEY not in run.err


@pytest.mark.parametrize("url", ["http://gw.example/v1", "https://gw.example:8443/v1", "https://other.example/v1"])
def test_the_servers_key_goes_to_that_server_alone(command: Command, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Another scheme, port or host than OPENAI_BASE_URL's is another server."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gw.example/v1")
    Path("datasheet.toml").write_text(f'[judge.x]\nadapter = "openai"\nmodel = "m"\nurl = "{url}"\n', encoding="utf-8")
    assert "api_key_env" not in json.loads(command("judges", "show", "x", "--json").out)
    assert json.loads(command("judges", "show", "qwen32b", "--json").out)["api_key_env"] == "OPENAI_API_KEY"


def test_the_url_may_come_from_the_environment(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackServer([verdict('{"verdict": "A"}')], models=("Qwen/Qwen2.5-32B-Instruct",)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        shown = json.loads(command("judges", "show", "qwen32b", "--json").out)
        assert shown["base_url"].startswith(server.url)
        assert command("build", "--judge", "qwen32b", "--design", "quick", "--out", "X").code == 0
        assert server.calls[0].body["response_format"]["type"] == "json_schema"


def test_a_wrong_model_is_told_with_what_is_offered(command: Command) -> None:
    with LoopbackServer([verdict('{"verdict": "A"}')], models=("other-model",)) as server:
        run = command("build", "--judge", f"openai:fake-judge@{server.base_url}", "--out", "X")
        assert server.calls == []
    assert run.code == 2
    assert "other-model" in run.err
