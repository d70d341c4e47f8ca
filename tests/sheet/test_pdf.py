from __future__ import annotations

import importlib
import io
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader, PdfWriter
from sheet.samples import sample

from datasheet.errors import RenderError
from datasheet.resources import templates_folder
from datasheet.sheet import attachment
from datasheet.sheet.attachment import read_attached_json
from datasheet.sheet.pdf import FONTS, font_fetcher, render_pdf
from datasheet.sheet.schema import dump_sheet


@pytest.fixture(autouse=True)
def no_date_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)


@cache
def printed(name: str) -> bytes:
    sheet = sample(name)
    return render_pdf(sheet, attachment=dump_sheet(sheet))


def reader(name: str) -> PdfReader:
    return PdfReader(io.BytesIO(printed(name)))


def test_the_sheet_reads_back_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "datasheet.pdf"
    path.write_bytes(printed("few"))
    assert read_attached_json(path) == dump_sheet(sample("few"))


def test_equal_sheets_give_equal_bytes() -> None:
    sheet = sample("few")
    assert render_pdf(sheet, attachment=dump_sheet(sheet)) == printed("few")


def test_a_standard_sheet_takes_two_to_five_pages_of_modest_size() -> None:
    assert 2 <= len(reader("careful").pages) <= 5
    assert len(printed("careful")) < 500_000


def test_every_page_of_a_simulated_sheet_is_stamped() -> None:
    pages = reader("careful").pages
    assert all("SIMULATED" in page.extract_text() for page in pages)
    assert not any("SIMULATED" in page.extract_text() for page in reader("real").pages)


def test_the_pdf_is_tagged_and_every_figure_has_an_alternative_text() -> None:
    document = reader("careful")
    root: Any = document.trailer["/Root"]
    assert root["/Lang"] == "en"
    assert root["/MarkInfo"]["/Marked"]
    assert document.metadata is not None
    assert document.metadata.title == "SIMULATED Judge datasheet: sim:careful"
    figures = [element for element in elements(root["/StructTreeRoot"]) if element.get("/S") == "/Figure"]
    assert len(figures) > 5
    alternatives = [str(figure.get("/Alt") or "") for figure in figures]
    assert all(alternatives)
    for said in ("Behind them the fitted curve", "What a unit of each is worth in sd of evidence: position"):
        assert sum(said in alternative for alternative in alternatives) == 1, said


def elements(node: Any) -> list[Any]:
    node = node.get_object()
    if isinstance(node, list):
        return [found for child in node for found in elements(child)]
    if not hasattr(node, "get"):
        return []
    return [node, *(elements(node["/K"]) if "/K" in node else [])]


def test_the_date_is_that_of_the_last_trial() -> None:
    assert reader("few").metadata["/CreationDate"] == "D:20261130101209Z"  # type: ignore[index]


def test_source_date_epoch_sets_the_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert created(sample("few")) == "D:19700102000000Z"
    for word in ("tomorrow", "", "1.5", "-1", "9" * 30):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", word)
        with pytest.raises(RenderError, match="expected SOURCE_DATE_EPOCH as a whole number of seconds"):
            render_pdf(sample("few"), attachment=b"{}")


def test_a_sheet_without_dates_bears_that_of_the_epoch() -> None:
    assert created(sample("taskless")) == "D:19700101000000Z"


def created(sheet: dict[str, Any]) -> str:
    metadata: Any = PdfReader(io.BytesIO(render_pdf(sheet, attachment=b"{}"))).metadata
    return str(metadata["/CreationDate"])


def test_hash_seed_time_zone_and_locale_leave_no_trace(tmp_path: Path) -> None:
    (tmp_path / "datasheet.json").write_bytes(dump_sheet(sample("few")))
    settings = (("1", "America/Recife", "C"), ("2", "Asia/Tokyo", "pt_BR.UTF-8"))
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", RENDER, str(tmp_path), str(place)],
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": locale},
        )
        for place, (seed, zone, locale) in enumerate(settings)
    ]
    assert [run.wait(timeout=120) for run in runs] == [0, 0]
    for kind in ("html", "pdf"):
        first, second = ((tmp_path / f"{place}.{kind}").read_bytes() for place in (0, 1))
        assert first == second
    assert (tmp_path / "0.pdf").read_bytes() == printed("few")


RENDER = """
import json, pathlib, sys
from datasheet.sheet.html import render_html
from datasheet.sheet.pdf import render_pdf
folder, place = pathlib.Path(sys.argv[1]), sys.argv[2]
content = (folder / "datasheet.json").read_bytes()
sheet = json.loads(content)
(folder / f"{place}.html").write_text(render_html(sheet), encoding="utf-8")
(folder / f"{place}.pdf").write_bytes(render_pdf(sheet, attachment=content))
"""


def test_nothing_is_set_smaller_than_seven_points() -> None:
    sizes = re.findall(r"font-size: ([0-9.]+)pt", (templates_folder() / "report" / "print.css").read_text())
    assert len(sizes) > 10
    assert min(map(float, sizes)) >= 7


def test_only_the_fonts_of_the_package_are_embedded() -> None:
    names = {
        str(font.get_object()["/BaseFont"]).partition("+")[2]
        for page in reader("careful").pages
        for font in page["/Resources"]["/Font"].values()  # type: ignore[index]
    }
    assert names
    assert all("Datasheet" in name or "Noto" in name for name in names)


def test_hostile_texts_stay_text() -> None:
    document = reader("hostile")
    text = "".join(page.extract_text() for page in document.pages)
    assert "<script>alert(1)</script>" in text.replace("\n", "")
    assert "U+202E" in text
    assert all(
        annotation.get_object()["/Subtype"] != "/Link"
        for page in document.pages
        for annotation in page.annotations or []
    )


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "http://127.0.0.1/",
        "https://127.0.0.1/x.css",
        "data:text/css,a",
        "datasheet-font:../OFL.txt",
        "datasheet-font:/etc/passwd",
    ],
)
def test_the_fetcher_refuses_all_but_the_fonts(address: str) -> None:
    with pytest.raises(ValueError, match="refused to load"):
        font_fetcher().fetch(address)


def test_the_fetcher_knows_every_font() -> None:
    for name in FONTS:
        assert font_fetcher().fetch(f"datasheet-font:{name}").read()[:4] == b"\x00\x01\x00\x00"


def test_a_page_that_asks_for_anything_else_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    page = '<html lang="en"><title>x</title><img src="file:///etc/passwd" alt="x">'
    monkeypatch.setattr("datasheet.sheet.pdf.render_print_html", lambda sheet, created: page)
    with pytest.raises(RenderError, match="nothing but the package's fonts"):
        render_pdf(sample("few"), attachment=b"{}")


def test_missing_pango_is_said_in_two_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def without_pango(name: str, package: str | None = None) -> Any:
        if name == "weasyprint":
            raise OSError("cannot load library 'libpango-1.0-0'")
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", without_pango)
    with pytest.raises(RenderError) as refused:
        render_pdf(sample("few"), attachment=b"{}")
    lines = str(refused.value).splitlines()
    assert len(lines) == 2
    assert "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0" in lines[1]
    assert "brew install pango" in lines[1]


def test_files_without_a_sheet_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RenderError, match="can't be read"):
        read_attached_json(tmp_path / "none.pdf")
    text = tmp_path / "text.pdf"
    text.write_text("not a PDF")
    with pytest.raises(RenderError, match="damaged or none"):
        read_attached_json(text)
    bare = tmp_path / "bare.pdf"
    with PdfWriter() as writer:
        writer.add_blank_page(100, 100)
        writer.write(bare)
    with pytest.raises(RenderError, match="found 0"):
        read_attached_json(bare)
    monkeypatch.setattr(attachment, "MOST_BYTES", 100)
    with pytest.raises(RenderError, match="at most 100 bytes"):
        read_attached_json(bare)
