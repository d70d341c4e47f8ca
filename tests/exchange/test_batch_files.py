"""Batch files: requests within the limits of their providers, and answers in every shape that providers give."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from batches import anthropic_line, asked, expired_line, openai_line, vllm_failure, write_lines
from loopback import completion, message

from datasheet.errors import UsageError, VerdictLogError
from datasheet.exchange import batch_files, json_lines
from datasheet.exchange.batch_files import FORMATS, BatchAnswer, read_answers, write_requests

OPENAI, ANTHROPIC = FORMATS["openai"], FORMATS["anthropic"]
REQUESTS = [(f"jd-0123456789abcdef-{number:032x}", {"model": "m", "n": number}) for number in range(5)]


def read(tmp_path: Path, *lines: object, adapter: str = "openai") -> list[BatchAnswer | str]:
    return list(read_answers(write_lines(tmp_path / "f", lines), FORMATS[adapter]))


def told(tmp_path: Path, line: object, adapter: str = "openai") -> tuple[object, ...]:
    (answer,) = read(tmp_path, line, adapter=adapter)
    assert isinstance(answer, BatchAnswer)
    assert (answer.where, answer.custom_id) == ("f line 1", "id")
    return answer.status, answer.document, answer.ended


def test_requests_of_each_provider(tmp_path: Path) -> None:
    (path,) = write_requests(tmp_path / "openai.jsonl", REQUESTS[:2], OPENAI)
    first, _ = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    body = {"model": "m", "n": 0}
    assert first == {"custom_id": REQUESTS[0][0], "method": "POST", "url": "/v1/chat/completions", "body": body}
    (path,) = write_requests(tmp_path / "anthropic.json", REQUESTS[:2], ANTHROPIC)
    assert json.loads(path.read_text(encoding="utf-8"))["requests"][0] == {"custom_id": REQUESTS[0][0], "params": body}
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", custom_id) for custom_id in asked(path))


@pytest.mark.parametrize("adapter", FORMATS)
def test_no_file_goes_beyond_its_provider_s_limits(tmp_path: Path, adapter: str) -> None:
    form = FORMATS[adapter]
    by_number = write_requests(tmp_path / "n.json", REQUESTS, replace(form, most_requests=2))
    assert [path.name for path in by_number] == ["n.json", "n-2.json", "n-3.json"]
    assert [len(asked(path)) for path in by_number] == [2, 2, 1]
    whole = write_requests(tmp_path / "w.json", REQUESTS[:3], form)[0].stat().st_size
    for spared, sizes in ((0, [3, 2]), (1, [2, 2, 1])):
        files = write_requests(tmp_path / f"b{spared}.json", REQUESTS, replace(form, most_bytes=whole + 2 - spared * 3))
        assert [len(asked(path)) for path in files] == sizes
        assert all(path.stat().st_size <= whole + 2 - spared * 3 for path in files)
    assert {custom_id for path in by_number for custom_id in asked(path)} == {custom_id for custom_id, _ in REQUESTS}


def test_a_file_that_exists_is_replaced_only_if_asked_and_is_never_half_written(tmp_path: Path) -> None:
    small = replace(OPENAI, most_requests=3)
    (tmp_path / "r-2.jsonl").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=r"r-2\.jsonl exists already"):
        write_requests(tmp_path / "r.jsonl", REQUESTS, small)
    assert [path.name for path in tmp_path.iterdir()] == ["r-2.jsonl"]
    write_requests(tmp_path / "r.jsonl", REQUESTS, small, force=True)
    assert len(asked(tmp_path / "r-2.jsonl")) == 2
    with pytest.raises(UsageError, match="can't be written"):
        write_requests(tmp_path / "nowhere" / "r.jsonl", REQUESTS, small)


def test_answers_of_openai_and_of_vllm(tmp_path: Path) -> None:
    reply, error = completion("[[A]]"), {"message": "no", "type": "invalid_request_error", "code": None}
    flat = {"object": "error", "message": "no", "code": 400}
    assert told(tmp_path, openai_line("id", reply)) == (200, reply, "")
    assert told(tmp_path, {**openai_line("id", reply), "response": {"body": reply}}) == (None, reply, "")
    assert told(tmp_path, openai_line("id", {"error": error}, status=400)) == (400, {"error": error}, "")
    assert told(tmp_path, openai_line("id", {}, status=0)) == (0, {}, "")
    assert told(tmp_path, expired_line("id")) == (None, None, "expired")
    assert told(tmp_path, {"custom_id": "id", "error": {"code": "batch_cancelled"}}) == (None, None, "canceled")
    assert told(tmp_path, {"custom_id": "id", "error": error}) == (None, {"error": error}, "")
    assert told(tmp_path, vllm_failure("id", "no")) == (400, {"error": "no"}, "")
    assert told(tmp_path, vllm_failure("id", {"error": error}, status=404)) == (404, {"error": error}, "")
    assert told(tmp_path, vllm_failure("id", flat)) == (400, flat, "")


def test_answers_of_anthropic(tmp_path: Path) -> None:
    reply, error = message({"type": "text", "text": "[[A]]"}), {"type": "api_error", "message": "no"}
    for line, expected in [
        (anthropic_line("id", "succeeded", message=reply), (200, reply, "")),
        (
            anthropic_line("id", "errored", error={"type": "error", "error": error}),
            (None, {"type": "error", "error": error}, ""),
        ),
        (anthropic_line("id", "errored", error=error), (None, {"error": error}, "")),
        (anthropic_line("id", "errored"), (None, {"error": "none"}, "")),
        (anthropic_line("id", "canceled"), (None, None, "canceled")),
        (anthropic_line("id", "expired"), (None, None, "expired")),
    ]:
        assert told(tmp_path, line, "anthropic") == expected


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[",
        "[]",
        "null",
        '{"custom_id": 1}',
        '{"custom_id": "id", "custom_id": "id"}',
        "[" * 100_000,
        "\ufeff{}",
        '{"a": NaN}',
    ],
    ids=lambda line: line[:12],
)
@pytest.mark.parametrize("adapter", FORMATS)
def test_a_line_that_says_nothing_is_named(tmp_path: Path, line: str, adapter: str) -> None:
    found = read(
        tmp_path, "{}", line, *[{"custom_id": "id", "result": "odd", "response": 5, "error": None}] * 2, adapter=adapter
    )
    assert all(isinstance(said, str) for said in found)
    assert [str(said).partition(":")[0] for said in found] == [
        f"f line {number}" for number in (1, *[2] * bool(line), 3, 4)
    ]


def test_a_line_that_is_too_long_costs_neither_memory_nor_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "_MAX_LINE_BYTES", 1000)
    found = read(tmp_path, "x" * 5000, openai_line("id", {}), "y" * 1000, openai_line("id", {}), "z" * 2001)
    assert [said.partition(",")[0] if isinstance(said, str) else said.where for said in found] == [
        "f line 1: expected one JSON object a line",
        "f line 2",
        "f line 3: expected one JSON object a line",
        "f line 4",
        "f line 5: expected one JSON object a line",
    ]


def test_a_file_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_files, "_MOST_BYTES", 100_000)
    monkeypatch.setattr(json_lines, "_MAX_LINE_BYTES", 1000)
    with pytest.raises(VerdictLogError, match="expected at most 100,000 bytes in all, found more"):
        list(read_answers(Path("/dev/zero"), OPENAI))
