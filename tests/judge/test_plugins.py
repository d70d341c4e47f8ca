"""Adapters that other packages bring."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasheet.config import Config, load_config
from datasheet.errors import UsageError
from datasheet.judge.base import Judge
from datasheet.judge.catalogue import find_judge, make_judge
from datasheet.records import Lexicon

MODULE = "adapter_of_this_test"
SOURCE = """
class MyJudge:
    adapter, simulated, decoding, provenance = "mine", False, {}, {}

    def __init__(self, *, model, connections, scale=1):
        if scale < 0:
            raise ValueError("scale\\x1b")
        self.model, self.connections, self.scale = model, connections, scale

    async def open(self): ...
    async def close(self): ...
    async def ask(self, request): ...

def no_judge(model, connections):
    return object()

class Posing(MyJudge):
    adapter = "openai"

openai = MyJudge
"""
ENTRIES = f"""[judge_datasheet.judges]
mine = {MODULE}:MyJudge
nothing = {MODULE}:no_judge
absent = {MODULE}:absent
posing = {MODULE}:Posing
openai = {MODULE}:openai
"""


@pytest.fixture(autouse=True)
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with its entry points, as installed."""
    site = tmp_path / "site"
    info = site / "my_adapter-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-adapter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    (site / f"{MODULE}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(site)
    yield
    sys.modules.pop(MODULE, None)


def made(name: str, config: Config | None = None) -> Judge:
    return make_judge(find_judge(name, config or Config(), {}), lexicon=Lexicon(requirements={}), connections=3)


def test_an_installed_adapter_is_named_before_its_model() -> None:
    spec = find_judge("mine:some-model", Config(), {})
    assert MODULE not in sys.modules, "nothing is imported before a judge is made"
    judge = make_judge(spec, lexicon=Lexicon(requirements={}), connections=3)
    assert (judge.model, judge.connections, judge.scale) == ("some-model", 3, 1)  # type: ignore[attr-defined]


def test_settings_of_a_table_reach_the_adapter(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[judge.x]\nadapter = "mine"\nmodel = "m"\nscale = 5\n')
    assert made("x", load_config(file, folder=tmp_path)).scale == 5  # type: ignore[attr-defined]


def test_a_file_in_the_working_folder_may_use_none(tmp_path: Path) -> None:
    (tmp_path / "datasheet.toml").write_text('[judge.x]\nadapter = "mine"\nmodel = "m"\n')
    with pytest.raises(UsageError, match=r"\[judge\.x\] would run code, or load a file of its choice \('mine'\)"):
        load_config(folder=tmp_path)
    assert MODULE not in sys.modules


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('adapter = "mine"\nmodel = "m"\nsize = 5', "'mine' of the package my-adapter does not take these settings"),
        ('adapter = "mine"', "does not take these settings"),
        ('adapter = "mine"\nmodel = "m"\nscale = -5', r"failed: ValueError: scale\\x1b"),
        ('adapter = "nothing"\nmodel = "m"', "made no judge: it has no adapter"),
        ('adapter = "posing"\nmodel = "m"', "made a judge of the adapter 'openai'"),
        ('adapter = "absent"\nmodel = "m"', "can't be imported: AttributeError"),
        ('adapter = "nowhere"', "no adapter 'nowhere': choose one of openai, .*, sim, mine, nothing, absent, posing"),
    ],
)
def test_what_can_not_be_used_is_named_with_its_place(tmp_path: Path, settings: str, said: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(f"[judge.x]\n{settings}\n")
    with pytest.raises(UsageError, match=said) as error:
        made("x", load_config(file, folder=tmp_path))
    assert str(error.value).startswith(f"{file} [judge.x]: ")


def test_a_package_takes_the_place_of_no_adapter_of_ours() -> None:
    judge = made("openai:m@http://127.0.0.1:1")
    assert type(judge).__module__ == "datasheet.judge.openai"


def test_a_misspelt_adapter_lists_what_is_installed() -> None:
    with pytest.raises(UsageError, match=r"no judge 'mien:m' \(did you mean mine\?\).* mine:MODEL"):
        find_judge("mien:m", Config(), {})
