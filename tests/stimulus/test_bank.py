from __future__ import annotations

from pathlib import Path

import pytest
from stimulus.banks import bank_tables, make_bank, to_toml

from datasheet.errors import StimulusError
from datasheet.stimulus.bank import load_bank, read_bank

BANK = make_bank(3)


def write(folder: Path, text: str) -> Path:
    path = folder / "bank.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_bank_file_gives_its_bank(tmp_path: Path) -> None:
    path = write(tmp_path, to_toml(bank_tables(BANK)))
    assert load_bank(path) == BANK
    assert load_bank(str(path)) == BANK


def test_the_hash_covers_the_tasks_and_not_comments_or_the_head(tmp_path: Path) -> None:
    text = to_toml(bank_tables(BANK))
    other_head = text.replace("Toy animals", "Animals") + "\n# seen by two people\n"
    assert load_bank(write(tmp_path, other_head)).bank_hash == BANK.bank_hash
    other_word = text.replace("Remark a about a otter", "Remark a upon a otter")
    assert other_word != text
    assert load_bank(write(tmp_path, other_word)).bank_hash != BANK.bank_hash
    assert make_bank(4).bank_hash != BANK.bank_hash


def test_line_ends_around_a_text_do_not_count(tmp_path: Path) -> None:
    tables = bank_tables(BANK)
    tables["task"][0]["question"] = "\n" + BANK.tasks[0].question + "\n"  # type: ignore[index]
    assert load_bank(write(tmp_path, to_toml(tables))) == BANK


def test_structural_faults_are_collected_and_named(tmp_path: Path) -> None:
    tables = bank_tables(BANK)
    first, second, third = tables["task"]  # type: ignore[misc]
    del tables["license"]
    tables["version"] = 2
    del first["question"]
    first["openings"] = "One opening."
    first["filler"][2] = 7
    second["fillers"] = []
    del second["id"]
    second["requirement"][1]["terse"] = ["short"]
    third["requirement"][4].pop("id")
    third["requirement"].pop(0)
    third["requirement"][0]["plain_alternative"] = "x"
    third["domain"] = "  "
    with pytest.raises(StimulusError) as caught:
        load_bank(write(tmp_path, to_toml(tables)))
    assert set(caught.value.faults) == {
        "bank: license: is missing",
        "bank: version: must be 1, found 2",
        "toy-0-sale: question: is missing",
        "toy-0-sale: openings: must be a list of texts, found a text",
        "toy-0-sale: filler.3: must be a text, found a number",
        "task 2: fillers: is no field of a bank: expected one of "
        "requirement, id, domain, question, reference, openings, filler",
        "task 2: id: is missing",
        "task 2: requirement.weight.terse: must be a text, found a list",
        "toy-2-sale: requirement.weight.plain_alternative: is no field of a bank: expected one of "
        "id, asked, plain, plain_alt, terse, wordy",
        "toy-2-sale: requirement.4.id: is missing",
        "toy-2-sale: requirement: there must be 5, found 4",
        "toy-2-sale: domain: is empty: write a text",
    }
    assert "12 fault(s)" in str(caught.value)
    assert all(fault in str(caught.value) for fault in caught.value.faults)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "a"\nname = "b"\n', "not valid TOML: Cannot overwrite a value .at line 2"),
        ("x = [" * 5000, "not valid TOML"),
        ("x = " + "9" * 5000, "not valid TOML"),
        ("# \x00", "not valid TOML.*line 1"),
        ("#" * 5_000_001, "larger than 5 MB"),
    ],
)
def test_a_file_that_is_no_bank_is_refused_with_a_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(StimulusError, match=message):
        load_bank(write(tmp_path, text))


@pytest.mark.parametrize("text", ["", "task = 3", "task = []", "[task]\nid = 'x'", "task = [[1], 2]"])
def test_tables_of_a_wrong_kind_are_faults_and_no_crash(tmp_path: Path, text: str) -> None:
    bank, faults = read_bank(write(tmp_path, text))
    assert bank.tasks == ()
    assert {"format", "version", "name", "task"} <= {fault.field for fault in faults}


def test_a_file_in_another_encoding_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "bank.toml"
    path.write_bytes('# a bank\nname = "Möwe"'.encode("latin-1"))
    with pytest.raises(StimulusError, match="not UTF-8 at line 2"):
        load_bank(path)


def test_a_bank_that_is_not_there_lists_the_shipped_ones(tmp_path: Path) -> None:
    with pytest.raises(StimulusError, match=r"no task bank 'nowhere'.*shipped banks"):
        load_bank("nowhere")
    with pytest.raises(StimulusError, match="no task bank"):
        load_bank(tmp_path)
