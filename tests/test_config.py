"""datasheet.toml: what is no configuration is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasheet.config import Config, Layer, load_config
from datasheet.errors import UsageError


def fault_of(tmp_path: Path, content: str | bytes) -> str:
    file = tmp_path / "own.toml"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(UsageError) as caught:
        load_config(file, folder=tmp_path)
    assert str(file) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("judge = 1", "'judge' should be a table"),
        ("[judge]\nx = 1", "[judge.x] should be a table with an adapter"),
        ("[judge.x]\nadapter = 1", "[judge.x] should be a table with an adapter"),
        (
            '[judge."a\\u001b"]\nadapter = "sim"',
            "a judge's name should be text without control characters, found 'a\\x1b'",
        ),
        ("[more]", "unknown table 'more'"),
        ("keys = [1]", "'keys' should be a table"),
        ("[keys]\nA = {a = 1}", "[keys] 'A' should be a host or a list of hosts"),
        (b"\x00\xff\x01", "is not TOML"),
        (f"x = {'1' * 5000}", "is not TOML"),
        (f"x = {'[' * 5000}", "is not TOML"),
        ("x = '" + "y" * 1_000_000 + "'", "can't be read: it is larger than 1,000,000 bytes"),
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, content: str | bytes, said: str) -> None:
    assert said in fault_of(tmp_path, content)


@pytest.mark.parametrize("value", ["inf", "nan", "-1", "true", '"x"', "[1]", "1" + "0" * 400, "1e300"])
def test_a_limit_is_a_finite_number(tmp_path: Path, value: str) -> None:
    assert "[limits] dark should be a number from 0 to 1,000,000, found" in fault_of(
        tmp_path, f"[limits]\ndark = {value}"
    )


@pytest.mark.parametrize("value", ["20.0", "1.5", "inf", "true", "-1"])
def test_a_least_number_of_readings_is_whole(tmp_path: Path, value: str) -> None:
    assert "least_pairs should be a whole number" in fault_of(tmp_path, f"[limits]\nleast_pairs = {value}")


def test_limits_of_the_right_kind_are_taken(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("[limits]\ndark = 0.1\nleast_pairs = 30\nsurface = 1\n")
    assert load_config(tmp_path / "own.toml", folder=tmp_path).limits == {"dark": 0.1, "least_pairs": 30, "surface": 1}


def test_a_configuration_without_end_is_not_read_to_its_end() -> None:
    with pytest.raises(UsageError, match="/dev/zero can't be read: it is larger than"):
        load_config("/dev/zero")


def test_a_found_file_binds_no_key_even_if_it_were_read(tmp_path: Path) -> None:
    """Reading refuses its [keys]; that is not the only thing in the way."""
    url = "https://evil.example/v1"
    for origin, binds in (("folder", False), ("user", True), ("flag", True)):
        layer = Layer(origin=origin, path=tmp_path, judges={}, keys={"MY_KEY": ("evil.example",)}, limits={})
        config = Config(layers=(layer,))
        assert (config.key_for(url), config.may_send("MY_KEY", url)) == ("MY_KEY" if binds else None, binds)


@pytest.mark.parametrize(
    ("url", "bound"),
    [
        ("https://gw.example/v1", True),
        ("https://gw.example:443/v1", True),
        ("https://other.example:8443/v1", True),
        ("http://127.0.0.1:8000/v1", True),
        ("http://gw.example/v1", False),
        ("http://gw.example:443/v1", False),
        ("https://gw.example:8443/v1", False),
        ("https://other.example/v1", False),
        ("https://sub.gw.example/v1", False),
        ("https://gw.example.evil.example/v1", False),
        ("https://gw.example@evil.example/v1", False),
        ("https://gw.example:x/v1", False),
        ("http://127.0.0.1.evil.example/v1", False),
    ],
)
def test_a_key_is_bound_to_scheme_host_and_port(tmp_path: Path, url: str, bound: bool) -> None:
    hosts = ("gw.example", "other.example:8443", "127.0.0.1")
    layer = Layer(origin="user", path=tmp_path, judges={}, keys={"MY_KEY": hosts}, limits={})
    config = Config(layers=(layer,))
    assert (config.key_for(url), config.may_send("MY_KEY", url)) == ("MY_KEY" if bound else None, bound)
