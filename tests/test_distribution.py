"""What a user installs: the wheel built from the sdist carries its data and works away from the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
CARRIED = (
    "datasheet/_data/stimuli/english.toml",
    "datasheet/_data/stimuli/channels/en.toml",
    "datasheet/_data/templates/prompts/default/variant.toml",
    "datasheet/_data/templates/prompts/rubric.txt",
    "datasheet/_data/templates/schemas/datasheet.schema.json",
    "datasheet/_data/templates/config/datasheet.toml",
    "datasheet/_data/templates/report/fonts/OFL.txt",
    "datasheet/py.typed",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    built = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(CHECKOUT)],
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = out.glob("*.whl")
    return path


def test_the_wheel_carries_its_data_and_nothing_else_of_the_checkout(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert set(CARRIED) <= set(names)
    assert any(name.endswith(".ttf") for name in names)
    tops = {name.split("/")[0] for name in names}
    assert tops == {"datasheet", next(top for top in tops if top.endswith(".dist-info"))}
    assert not any("__pycache__" in name for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_wheel_works_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    zipfile.ZipFile(wheel).extractall(site)
    elsewhere.mkdir()
    code = f"import sys; sys.path.insert(0, {str(site)!r}); from datasheet.cli import main; main(sys.argv[1:])"
    run = subprocess.run(
        [sys.executable, "-c", code, "build", "--design", "quick", "--out", "sheet"],
        cwd=elsewhere,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert {path.name for path in (elsewhere / "sheet").iterdir()} >= {
        "datasheet.json",
        "datasheet.html",
        "datasheet.pdf",
    }
