"""A server that gives the key back in every spelling: it is in no file, no page of the PDF, and on no line printed."""

from __future__ import annotations

import base64
import html
import io
import json
import socketserver
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from command import Command, Run
from loopback import Call, LoopbackServer, Step, completion
from pypdf import PdfReader
from pypdf.generic import StreamObject

from datasheet.config import user_folder
from datasheet.judge.scrubbing import Scrubber
from datasheet.stimulus.design import DESIGNS

KEY = 'sk-Test/DO+NOT&STORE"1234567890'

SPELLINGS = {
    "plain": KEY,
    "lower case": KEY.lower(),
    "percent": quote(KEY, safe=""),
    "percent, twice": quote(quote(KEY, safe=""), safe=""),
    "percent, all of it": "".join(f"%{ord(c):02X}" for c in KEY),
    "json": json.dumps(KEY)[1:-1],
    "json, all of it": "".join(f"\\u{ord(c):04x}" for c in KEY),
    "json in json": json.dumps(json.dumps(KEY))[3:-3],
    "html": html.escape(KEY),
    "html, all of it": "".join(f"&#x{ord(c):x};" for c in KEY),
    **{f"base64 after {n}": base64.b64encode(b"x" * n + KEY.encode()).decode() for n in range(3)},
    "base64 of a header": base64.b64encode(f"Bearer {KEY}".encode()).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(f"{KEY}\n".encode()).decode(),
}


def found_in(content: bytes) -> list[str]:
    """The spellings of the key that bytes hold; of base64 the part that no neighbour has a bit in."""
    lowered = content.lower()
    needles = {name: text[4:-4] if "base64" in name else text for name, text in SPELLINGS.items()}
    return [name for name, needle in needles.items() if needle.lower().encode() in lowered]


def texts_of_pdf(content: bytes) -> Iterator[bytes]:
    """Each stream of a PDF unpacked (the attachment is one), each other object, and the words on its pages."""
    with PdfReader(io.BytesIO(content)) as reader:
        for number in range(1, int(reader.trailer["/Size"])):  # type: ignore[call-overload]
            held = reader.get_object(number)
            yield held.get_data() if isinstance(held, StreamObject) else repr(held).encode("utf-8", "replace")
        for page in reader.pages:
            yield page.extract_text().replace("\n", "").encode("utf-8", "replace")


def assert_nowhere(*runs: Run) -> None:
    files = [path for path in sorted(Path().rglob("*")) if path.is_file()]
    for path in files:
        content = path.read_bytes()
        assert found_in(content) == [], path
        if content.startswith(b"%PDF-"):
            for text in texts_of_pdf(content):
                assert found_in(text) == [], path
    for run in runs:
        assert found_in((run.out + run.err).encode()) == []


def use(base_url: str) -> None:
    user_folder().mkdir(parents=True, exist_ok=True)
    (user_folder() / "datasheet.toml").write_text(
        f'[judge.mine]\nadapter = "openai"\nmodel = "fake-judge"\nurl = "{base_url}"\n[keys]\nMY_KEY = ["127.0.0.1"]\n',
        encoding="utf-8",
    )


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setitem(DESIGNS, "quick", replace(DESIGNS["quick"], n_tasks=2))


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_spelling_that_is_not_taken_out_is_found(name: str) -> None:
    """The search that the other tests rest on, and the scrubber by itself."""
    sent = f"a {SPELLINGS[name]} b"
    assert name in found_in(sent.encode())
    assert found_in(Scrubber([KEY])(sent).encode()) == []


def echoing(call: Call) -> Step:
    """Answers with the key in every field and header, and refuses now and then."""
    spelled = list(SPELLINGS.values())[call.number % len(SPELLINGS)]
    headers = {"X-Request-Id": spelled, "retry-after-ms": "1"}
    if call.number % 4 == 3:
        return Step(status=500, headers=headers, json={"error": {"message": spelled, "type": spelled, "code": spelled}})
    answer = completion(
        f'The key is {spelled}. {{"verdict": "A"}}', finish_reason=f"stop {spelled}", refusal=None, reasoning=spelled
    )
    answer |= {"id": spelled, "system_fingerprint": f"fp {KEY}"}
    # Spelled out in JSON's own escapes, the key would only come to light when the body is read.
    return Step(headers=headers, text=json.dumps(answer).replace(json.dumps(KEY)[1:-1], SPELLINGS["json, all of it"]))


def test_an_echoed_key_is_in_no_file_and_no_output(command: Command) -> None:
    with LoopbackServer(echoing) as server:
        use(server.base_url)
        build = command("build", "--judge", "mine", "--design", "quick", "--out", "X")
        assert len(server.calls) > len(SPELLINGS)
        assert server.calls[0].headers["Authorization"] == f"Bearer {KEY}"
        runs = [
            build,
            command("judges", "check", "mine"),
            command("judges", "show", "mine", "--json"),
            command("log", "export", "X", "verdicts.jsonl"),
            command("log", "verify", "X"),
            command("show", "X"),
            command("show", "X", "--json"),
            command("analyze", "X", "--json"),
        ]
    assert [run.code for run in runs if run is not runs[1]] == [0] * 7, [run.err for run in runs]
    assert "[key]" in Path("verdicts.jsonl").read_text(encoding="utf-8"), "the replies held the key"
    assert Path("X/datasheet.pdf").exists()
    assert_nowhere(*runs)


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_refusal_or_redirect_that_holds_the_key(command: Command, name: str) -> None:
    spelled = SPELLINGS[name]
    location = f"http://{quote(KEY, safe='')}.example/{spelled}?key={spelled}"
    steps = [
        Step(status=401, json={"error": {"message": spelled, "param": spelled}}),
        Step(status=307, headers={"Location": location}, text=""),
        Step(status=400, text="x" * 180 + spelled),
    ]
    offers = [("other", spelled), *[("fake-judge",)] * len(steps)]
    for step, models in zip([*steps[:1], *steps], offers, strict=True):
        with LoopbackServer([step], models=models) as server:
            use(server.base_url)
            run = command("judges", "check", "mine")
        assert run.code == 2
        assert_nowhere(run)


def test_a_host_that_is_the_key_is_not_named(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    simple = "sk-test-DO-NOT-STORE-1234567890"
    monkeypatch.setenv("MY_KEY", simple)
    moved = Step(status=307, headers={"Location": f"https://{simple}.example/"}, text="")
    with LoopbackServer([moved]) as server:
        use(server.base_url)
        run = command("judges", "check", "mine")
    assert "redirects are not followed" in run.err
    assert simple.lower() not in run.err.lower()


class _Broken(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.recv(65536)
        self.request.sendall(f"HTTP/1.1 200 OK\r\n{KEY} is no header\r\n\r\n".encode())


def test_a_broken_answer_that_holds_the_key(command: Command) -> None:
    """The HTTP library quotes the line that it could not read."""
    with socketserver.TCPServer(("127.0.0.1", 0), _Broken) as server:
        thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01))
        thread.start()
        use(f"http://127.0.0.1:{server.server_address[1]}/v1")
        run = command("judges", "check", "mine")
        server.shutdown()
        thread.join()
    assert run.code == 2
    assert "[key]" in run.err
    assert_nowhere(run)


def test_programs_and_functions_that_tell_the_key(command: Command) -> None:
    Path("telling.py").write_text(
        "import json, os, sys\n"
        "def judge(asked):\n"
        "    if 'fail' in sys.argv or os.environ.get('FAIL'): raise ValueError(os.environ['MY_KEY'])\n"
        "    return os.environ['MY_KEY'] + ' {\"verdict\": \"A\"}'\n"
        "if __name__ == '__main__':\n"
        "    print(judge(None)) if 'fail' not in sys.argv else sys.exit(os.environ['MY_KEY'])\n",
        encoding="utf-8",
    )
    runs = [
        command("judges", "check", f"command:{sys.executable} telling.py fail"),
        command("build", "--judge", "python:telling:judge", "--design", "quick", "--out", "P", "--no-render"),
        command("log", "export", "P", "verdicts.jsonl"),
        command("show", "P", "--json"),
    ]
    assert "[key]" in runs[0].err
    assert "[key]" in Path("verdicts.jsonl").read_text(encoding="utf-8")
    assert_nowhere(*runs)
