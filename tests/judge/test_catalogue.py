"""From a judge's name to its settings: each is checked where it was written, and no secret of a URL is in a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasheet.config import Config, load_config
from datasheet.errors import UsageError
from datasheet.judge.catalogue import find_judge, make_judge
from datasheet.judge.openai import OpenAIJudge
from datasheet.judge.spec import JudgeSpec
from datasheet.records import Lexicon

URL = "http://127.0.0.1:8000/v1"
BIG = "1" + "0" * 400


def configured(tmp_path: Path, settings: str, environment: dict[str, str] | None = None) -> JudgeSpec:
    file = tmp_path / "own.toml"
    file.write_text(f"[judge.x]\n{settings}\n", encoding="utf-8")
    spec = find_judge("x", load_config(file, folder=tmp_path), environment or {})
    make_judge(spec, lexicon=Lexicon(requirements={}), connections=1)
    return spec


def openai(settings: str, *, url: str = URL) -> str:
    return f'adapter = "openai"\nmodel = "m"\nurl = "{url}"\n{settings}'


def fault_of(tmp_path: Path, settings: str) -> str:
    with pytest.raises(UsageError) as caught:
        configured(tmp_path, settings)
    return str(caught.value)


# Settings


@pytest.mark.parametrize(
    ("setting", "wish"),
    [
        *(
            (f"temperature = {odd}", "a number from 0 to 100")
            for odd in ("true", BIG, "nan", "inf", "-1", '"hot"', "[1]")
        ),
        *((f"seed = {odd}", "a whole number from 0") for odd in ('"x"', "[1]", "nan", "1.5", "true", "-1", BIG)),
        *((f"max_tokens = {odd}", "a whole number from 1") for odd in ("inf", "1.5", "true", "0", '"5"')),
        *((f"logprobs = {odd}", "a whole number from 0") for odd in ("true", "1.5", '"a"')),
        *((f"timeout_s = {odd}", "a number from 0.001") for odd in ("true", '"5"', "nan", "inf", "0", "1e-300", BIG)),
        *(
            (f"extra_body = {odd}", "a table of JSON values")
            for odd in ("[1]", '"x"', "1", "{d = 2020-01-01}", "{d = nan}")
        ),
        *(
            (f"api_key_env = {odd}", "the name of an environment variable")
            for odd in ("5", '["A"]', "true", '""', '"A=B"')
        ),
        ('api_key_env = "sk-0123456789"', "the name of an environment variable"),
        ("max_tokens_field = [1]", "one of max_tokens, max_completion_tokens"),
        ("json_mode = []", "one of off, json_object, json_schema"),
        ("system_role = 3", "one of system, merge"),
        ('start_hint = "a\\u001bb"', "a text of one line"),
    ],
)
def test_an_odd_setting_of_an_openai_judge_is_named(tmp_path: Path, setting: str, wish: str) -> None:
    message = fault_of(tmp_path, openai(setting))
    assert message.startswith(f"{tmp_path / 'own.toml'} [judge.x]: {setting.split()[0]} should be {wish}")
    assert "; found " in message
    assert "sk-0123456789" not in message


@pytest.mark.parametrize("model", ["3", '""', '" "', '"a\\nb"', "[1]", "true"])
def test_a_model_is_a_line_of_text(tmp_path: Path, model: str) -> None:
    assert "model should be a text of one line" in fault_of(tmp_path, f'adapter = "openai"\nmodel = {model}')


def test_a_judge_without_a_model_is_refused(tmp_path: Path) -> None:
    assert "needs a model" in fault_of(tmp_path, f'adapter = "openai"\nurl = "{URL}"')


@pytest.mark.parametrize("url", ["0", "5", '""', "[1]", "true", '"http://a\\u0000b/v1"'])
def test_a_url_is_a_line_of_text(tmp_path: Path, url: str) -> None:
    assert "url should be a URL such as" in fault_of(tmp_path, f'adapter = "openai"\nmodel = "m"\nurl = {url}')


@pytest.mark.parametrize(
    "url",
    [
        "http://" + "a" * 80 + ".x/v1",
        "http://" + "é" * 70 + ".x/v1",
        "http://" + ".".join(["a" * 60] * 6),
        *("http://a..b/v1", "http://../v1", "http://a b/v1", "http://h%zz/v1", "http://:80/v1", "http://h:0/v1"),
        *("http://127.0.0.1:99999/v1", "http://127.0.0.1:abc/v1", "http://[::1/v1", "file:///etc/passwd", "h/v1"),
        "http://api.openai.com\\\\@h/v1",
    ],
)
def test_a_url_that_can_not_be_called_is_refused(tmp_path: Path, url: str) -> None:
    assert "a judge's URL starts with http:// or https:// and names a host" in fault_of(tmp_path, openai("", url=url))


@pytest.mark.parametrize(
    "url", ["http://[::1]:8000/v1", "https://a_b.example.com", "http://é.example/v1", "HTTP://H/v1"]
)
def test_urls_of_every_proper_kind_are_taken(tmp_path: Path, url: str) -> None:
    assert configured(tmp_path, openai("", url=url)).options["base_url"] == url


def test_settings_of_the_right_kind_are_taken(tmp_path: Path) -> None:
    spec = configured(tmp_path, openai('temperature = "unset"\nseed = 3\nextra_body = {top_k = 1, deep = {a = [1]}}'))
    assert spec.options["temperature"] is None
    assert spec.options["extra_body"] == {"top_k": 1, "deep": {"a": [1]}}
    assert configured(tmp_path, openai("temperature = 1\ntimeout_s = 5")).options["timeout_s"] == 5


@pytest.mark.parametrize(
    ("setting", "wish"),
    [
        *((f"observer = {odd}", "one of careful") for odd in ("[1]", "3", '"zz"')),
        *((f"seed = {odd}", "a whole number from 0") for odd in ('"x"', "true", "1.0", "-3", BIG, "[1]")),
        *(
            (f"position = {odd}", "a number from -1e+06")
            for odd in ("[1]", "{a = 1}", "2020-01-01", "nan", "inf", BIG, '"1"')
        ),
        ("sensitivity = 1e308", "a number from -1e+06"),
    ],
)
def test_an_odd_setting_of_a_simulated_judge_is_named(tmp_path: Path, setting: str, wish: str) -> None:
    message = fault_of(tmp_path, f'adapter = "sim"\n{setting}')
    assert message.startswith(f"{tmp_path / 'own.toml'} [judge.x]: {setting.split()[0]} should be {wish}")


@pytest.mark.parametrize("setting", ["invalid_rate = 2", "noise = -1", "task_spread = 1000", "lapse_rate = -0.5"])
def test_a_dial_beyond_its_range_is_named_with_its_place(tmp_path: Path, setting: str) -> None:
    message = fault_of(tmp_path, f'adapter = "sim"\n{setting}')
    assert message.startswith(
        f"{tmp_path / 'own.toml'} [judge.x]: dial {setting.split()[0]} must be a number from 0 to"
    )


def test_an_unknown_setting_lists_the_known_ones(tmp_path: Path) -> None:
    for kind in ('adapter = "sim"', openai("")):
        assert "no setting 'connections': the settings are" in fault_of(tmp_path, f"{kind}\nconnections = 5")


# Names


@pytest.mark.parametrize(
    ("written", "name", "model", "base_url"),
    [
        ("openai:m@http://h/v1", "openai:m@http://h/v1", "m", "http://h/v1"),
        ("openai:m@http://bob:hunter2@h/v1?api-key=hunter3#x", "openai:m@http://h/v1", "m", None),
        ("openai:m@http://bob:hun@ter2@h/v1", "openai:m@http://h/v1", "m", None),
        ("openai:org@model@https://h:1/v1", "openai:org@model@https://h:1/v1", "org@model", "https://h:1/v1"),
        ("openai:org@model", "openai:org@model", "org@model", URL),
    ],
)
def test_a_spelled_out_judge_is_named_without_what_is_secret(
    written: str, name: str, model: str, base_url: str | None
) -> None:
    spec = find_judge(written, Config(), {})
    assert spec.name == name
    assert spec.options["model"] == model
    assert spec.options["base_url"] == (base_url or written.removeprefix("openai:m@"))
    judge = make_judge(spec, lexicon=Lexicon(requirements={}), connections=1)
    assert isinstance(judge, OpenAIJudge)
    assert "hunter" not in repr((spec.name, judge, judge.provenance, judge.decoding))


@pytest.mark.parametrize(
    "written",
    [
        "openai:m@ftp://bob:hunter2@h/v1",
        "openai:m@http://h/v1?next=@http://hunter2/",
        "openai:http://h/v1?key=hunter2",
        "openia:m@http://bob:hunter2@h/v1?key=hunter2",
        "openai:m@http://bob:hunter2@h:99999/v1?key=hunter2",
        "openai: @http://bob:hunter2@h/v1?key=hunter2",
    ],
)
def test_a_name_that_does_not_fit_is_refused_without_what_is_secret(written: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_judge(written, Config(), {})
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("written", "adapter", "options"),
    [
        ("python:my.package:judge", "python", {"function": "my.package:judge", "search_folder": "."}),
        ("command:my-judge --deep 'a b'", "command", {"command": ["my-judge", "--deep", "a b"]}),
        ("local:models/tiny.gguf", "local", {"file": "models/tiny.gguf"}),
        ("replay:verdicts.jsonl", "replay", {"log": "verdicts.jsonl"}),
        (
            "anthropic:some-model",
            "anthropic",
            {"model": "some-model", "base_url": "https://api.anthropic.com/v1", "api_key_env": "ANTHROPIC_API_KEY"},
        ),
        (
            "anthropic:m@http://127.0.0.1:1/v1",
            "anthropic",
            {"model": "m", "base_url": "http://127.0.0.1:1/v1", "api_key_env": None},
        ),
    ],
)
def test_a_judge_of_each_adapter_can_be_spelled_out(written: str, adapter: str, options: dict) -> None:
    spec = find_judge(written, Config(), {})
    assert (spec.name, spec.adapter, spec.options, spec.origin) == (written, adapter, options, "command line")


def test_field_case_a29_a_misspelt_adapter_is_no_judge() -> None:
    with pytest.raises(UsageError, match=r"no judge 'opneai:fake-judge' \(did you mean openai\?\)") as caught:
        find_judge("opneai:fake-judge", Config(), {})
    for form in ("openai:MODEL@URL", "anthropic:MODEL", "python:MODULE:FUNCTION", "command:PROGRAM", "sim:NAME"):
        assert form in str(caught.value)


@pytest.mark.parametrize("written", ["python:", "command:", "local:", "openai:", "anthropic:", "replay:", "mine:m", ""])
def test_a_name_without_the_rest_is_no_judge(written: str) -> None:
    with pytest.raises(UsageError, match="no judge"):
        find_judge(written, Config(), {})


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("python:just_a_module", "function should be a function as MODULE:NAME"),
        ("python:a b:c", "function should be a function as MODULE:NAME"),
        ("python:m:f()", "function should be a function as MODULE:NAME"),
        ("command:judge 'unclosed", "can't be split into words"),
    ],
)
def test_what_does_not_fit_after_the_colon_is_named(written: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        find_judge(written, Config(), {})


@pytest.mark.parametrize(
    ("settings", "wish"),
    [
        ('adapter = "python"\nfunction = 5', "function should be"),
        ('adapter = "python"', "needs function"),
        ('adapter = "command"\ncommand = []', "command should be a program and its arguments"),
        ('adapter = "command"\ncommand = "x"\noptions = 5', "options should be a table of JSON values"),
        ('adapter = "local"\nfile = "x"\ncontext_tokens = 1', "context_tokens should be a whole number from 128"),
        ('adapter = "local"\nmodel = "x"', "needs file"),
        ('adapter = "anthropic"\nmodel = "m"\nseed = 1', "no setting 'seed'"),
        (openai("headers = {X-Team = 5}"), "headers should be a table of header names"),
        (openai('headers = {Authorization = "Bearer sk-0123456789"}'), "Authorization looks like a key's"),
        (openai('headers = {api-key = "sk-0123456789"}'), "api-key looks like a key's"),
        (openai('headers = {Content-Type = "text/plain"}'), "'Content-Type' is no header that a judge may set"),
        (openai('headers = {"X Team" = "a"}'), "'X Team' is no header"),
        (openai('headers = {X-Team = "a\\r\\nX: y"}'), "the value of X-Team should be printable ASCII"),
        (openai('key_header = "Host"'), "'Host' is no header"),
        (openai("tls = {verify = 1}"), "tls should be a table of any of ca_file"),
        (openai('tls = {pem = "x"}'), "tls should be a table of any of ca_file"),
        (openai('tls = {ca_file = "/no/such/file.pem"}'), "ca_file names a file that does not exist"),
    ],
)
def test_an_odd_setting_of_any_adapter_is_named_with_its_place(tmp_path: Path, settings: str, wish: str) -> None:
    message = fault_of(tmp_path, settings)
    assert message.startswith(f"{tmp_path / 'own.toml'} [judge.x]: ")
    assert wish in message
    assert "sk-0123456789" not in message


def test_headers_and_tls_of_the_right_kind_are_taken(tmp_path: Path) -> None:
    spec = configured(tmp_path, openai('headers = {X-Team = "evaluation"}\ntls = {verify = false}'))
    judge = make_judge(spec, lexicon=Lexicon(requirements={}), connections=1)
    assert judge.provenance == {
        "url": URL,
        "api_key_env": "",
        "headers": "X-Team",
        "tls": "the server's certificate was not verified",
    }
    assert "headers" not in judge.decoding


# OPENAI_BASE_URL


def test_an_empty_base_url_in_the_environment_is_none() -> None:
    for empty in ("", "  "):
        assert find_judge("qwen32b", Config(), {"OPENAI_BASE_URL": empty}).options["base_url"] == URL


def test_an_odd_base_url_in_the_environment_fails_only_where_it_is_used() -> None:
    odd = {"OPENAI_BASE_URL": "nonsense"}
    assert find_judge(f"openai:m@{URL}", Config(), odd).options["base_url"] == URL
    assert find_judge("sim:careful", Config(), odd).adapter == "sim"
    with pytest.raises(UsageError, match="OPENAI_BASE_URL: a judge's URL starts with"):
        find_judge("qwen32b", Config(), odd)
