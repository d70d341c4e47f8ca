"""Prompt variants: data in a folder, checked when they are loaded."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any, Literal, get_args

from datasheet.errors import PromptError
from datasheet.files import read_limited
from datasheet.identity import canonical_json, content_id
from datasheet.records import OUTCOMES, Outcome
from datasheet.resources import templates_folder

ReplySchema = Literal["json", "bracket", "single_token", "checklist"]
Stands = Literal["whole", "last"]

PLACEHOLDERS = ("question", "answer_first", "answer_second", "rubric", "reference")
_NEEDED = ("question", "answer_first", "answer_second")
_FIELDS: Mapping[str, type] = {
    "title": str,
    "description": str,
    "schema": str,
    "labels": dict,
    "abstention": str,
    "verdict_stands": str,
    "max_tokens": int,
    "top_logprobs": int,
}
_KIND_WORDS = {str: "text", int: "a whole number", dict: "a table"}
_OPTIONAL = ("description", "abstention", "top_logprobs")
_TEXTS = ("name", "system", "user", "rubric")
_MOST_TOKENS = 1_000_000
_MOST_CANDIDATES = 1_000
_MAX_BYTES = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptVariant:
    """An operating point of a judge: the texts that it is shown and the verdicts that it may write.

    Attributes
    ----------
    name
        Name of the folder; no part of the identity.
    schema
        How the verdict is written: a JSON object, a label in double brackets, a label and nothing else, or a checklist
        that is answered for each of the two answers in a JSON object.
    labels
        From the label that the judge writes to the outcome that it stands for.
    abstention
        A label that reads as a tie and is counted apart, where the prompt offers one.
    verdict_stands
        ``"whole"``: the reply is the verdict, so that two different ones conflict. ``"last"``: text may come before
        it, and the last one counts; in a JSON object that text is its member ``reasons``.
    top_logprobs
        Number of candidates that the judge is asked for at its one token, where the log-probabilities of the labels are
        to be read; None asks for none.
    """

    name: str
    title: str
    description: str
    schema: ReplySchema
    labels: Mapping[str, Outcome]
    abstention: str | None
    verdict_stands: Stands
    max_tokens: int
    top_logprobs: int | None = None
    system: str
    user: str
    rubric: str

    @property
    def ties_allowed(self) -> bool:
        """A reply can read as a tie: the prompt has a label for it, or an abstention."""
        return "tie" in self.labels.values() or self.abstention is not None

    @property
    def checklist_items(self) -> int:
        """Number of rubric items that a checklist answers for each answer: the numbered lines of the rubric."""
        return len(_numbers(self.rubric)) if self.schema == "checklist" else 0

    @property
    def prompt_hash(self) -> str:
        """Content hash of all that shapes a reading: everything but the name, the title and the description."""
        shaping = ["prompt", self.schema, dict(self.labels), self.abstention, self.verdict_stands, self.max_tokens]
        asked = [] if self.top_logprobs is None else [self.top_logprobs]
        return content_id([*shaping, *asked, self.system, self.user, self.rubric])

    @property
    def rubric_hash(self) -> str:
        """Content hash of the rubric alone."""
        return content_id(["rubric", self.rubric])


def variant_names() -> list[str]:
    """Names of the shipped variants, sorted."""
    return sorted(file.parent.name for file in _shipped().glob("*/variant.toml"))


def load_variant(name_or_folder: str) -> PromptVariant:
    """A shipped variant by its name, or one of one's own by the path of its folder.

    Raises
    ------
    PromptError
        There is no such variant, or it can't be used: before any call is made.
    """
    if name_or_folder in variant_names():
        return _load(_shipped() / name_or_folder)
    folder = Path(name_or_folder)
    if folder.is_dir():
        return _load(folder)
    raise PromptError(
        f"no prompt variant {name_or_folder!r}: expected one of {', '.join(variant_names())}, "
        "or the path of a folder that holds variant.toml and user.txt"
    )


def variant_content(variant: PromptVariant) -> str:
    """All of a variant as JSON, so that a log can be read later without the folder that it came from."""
    held = {item.name: getattr(variant, item.name) for item in fields(variant)}
    if variant.top_logprobs is None:
        del held["top_logprobs"]  # as it was before there were any: an earlier log holds the same text
    return canonical_json(held | {"labels": [list(label) for label in variant.labels.items()]})  # keeps their order


def variant_from_content(text: str) -> PromptVariant:
    """The variant that :func:`variant_content` wrote down.

    Raises
    ------
    PromptError
        The text is no such content, or of a variant that can't be used.
    """
    try:
        held = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PromptError(f"stored prompt variant: expected JSON, found other text ({error})") from None
    known = {item.name for item in fields(PromptVariant)}
    if not isinstance(held, dict) or set(held) | {"top_logprobs"} != known:
        found = ", ".join(sorted(held)) if isinstance(held, dict) else type(held).__name__
        raise PromptError(
            f"stored prompt variant: expected an object of {', '.join(sorted(known))}, found {found[:200]}"
        )
    settings = {name: value for name, value in held.items() if name not in _TEXTS and value is not None}
    settings["labels"] = _labels(held["labels"])
    faults = [f"{name} must be text" for name in _TEXTS if not isinstance(held[name], str)] + _faults(settings)
    if faults:
        raise PromptError("stored prompt variant: " + "; ".join(faults))
    variant = PromptVariant(**{**held, "labels": MappingProxyType(settings["labels"])})
    _check_texts(variant, "stored prompt variant")
    return variant


def _labels(pairs: object) -> object:
    """Labels and outcomes from their stored pairs; what is none comes back as it is, to be refused as no table."""
    well_formed = isinstance(pairs, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair) for pair in pairs
    )
    return dict(pairs) if well_formed else pairs  # type: ignore[call-overload]


def _shipped() -> Path:
    return templates_folder() / "prompts"


def _load(folder: Path) -> PromptVariant:
    settings = _settings(folder / "variant.toml")
    own_rubric = folder / "rubric.txt"
    system = folder / "system.txt"
    variant = PromptVariant(
        name=folder.resolve().name,
        title=settings["title"],
        description=settings.get("description", ""),
        schema=settings["schema"],
        labels=MappingProxyType(settings["labels"]),
        abstention=settings.get("abstention"),
        verdict_stands=settings["verdict_stands"],
        max_tokens=settings["max_tokens"],
        top_logprobs=settings.get("top_logprobs"),
        system=_text(system) if system.is_file() else "",
        user=_text(folder / "user.txt"),
        rubric=_text(own_rubric if own_rubric.is_file() else _shipped() / "rubric.txt"),
    )
    _check_texts(variant, str(folder))
    return variant


def _text(file: Path) -> str:
    try:
        text = read_limited(file, _MAX_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise PromptError(
            f"{file}: expected a text file of at most {_MAX_BYTES:,} bytes, but it can't be read ({error.strerror})"
        ) from error
    except UnicodeDecodeError as error:
        raise PromptError(
            f"{file}: expected UTF-8, found another encoding at byte {error.start}; save it as UTF-8"
        ) from error
    return text.replace("\r\n", "\n").strip("\n")


def _settings(file: Path) -> dict[str, Any]:
    try:
        settings = tomllib.loads(_text(file))
    except (ValueError, RecursionError) as error:  # of a number of thousands of digits, and of deep nesting
        raise PromptError(f"{file}: not valid TOML: {error}") from error
    faults = _faults(settings)
    if faults:
        raise PromptError(f"{file}: " + "; ".join(faults))
    return settings


def _faults(settings: Mapping[str, Any]) -> list[str]:
    """What is wrong with the settings of a variant."""
    faults = [f"unknown field {key!r} (known: {', '.join(_FIELDS)})" for key in settings if key not in _FIELDS]
    faults += [f"field {key!r} is missing" for key in _FIELDS if key not in settings and key not in _OPTIONAL]
    faults += [
        f"{key} must be {_KIND_WORDS[kind]}, not {settings[key]!r}"
        for key, kind in _FIELDS.items()
        if key in settings and type(settings[key]) is not kind
    ]
    return faults or _value_faults(settings)


def _value_faults(settings: Mapping[str, Any]) -> list[str]:
    """What is wrong with settings that are all there and of the right type."""
    faults = [
        f"{key} must be one of {', '.join(get_args(allowed))}, not {settings[key]!r}"
        for key, allowed in (("schema", ReplySchema), ("verdict_stands", Stands))
        if settings[key] not in get_args(allowed)
    ]
    if not 1 <= settings["max_tokens"] <= _MOST_TOKENS:
        found = str(settings["max_tokens"])[:20]
        faults.append(f"max_tokens must be at least 1 and at most {_MOST_TOKENS:,}, not {found}")
    candidates = settings.get("top_logprobs", 1)
    if not 1 <= candidates <= _MOST_CANDIDATES:
        faults.append(f"top_logprobs must be at least 1 and at most {_MOST_CANDIDATES:,}, not {str(candidates)[:20]}")
    if "top_logprobs" in settings and settings["schema"] != "single_token":
        faults.append(f"top_logprobs needs the schema single_token, not {settings['schema']!r}: a label is read there")
    labels = settings["labels"]
    if settings["schema"] == "checklist" and ("abstention" in settings or "tie" not in labels.values()):
        faults.append("a checklist can come out even: expected a label that stands for 'tie', and no abstention")
    faults += [
        f"label {label!r} must stand for one of {', '.join(OUTCOMES)}, not {outcome!r}"
        for label, outcome in labels.items()
        if outcome not in OUTCOMES
    ]
    faults += [f"no label stands for {outcome!r}" for outcome in ("first", "second") if outcome not in labels.values()]
    offered = [*labels, *([settings["abstention"]] if "abstention" in settings else [])]
    if any(not label.strip() for label in offered):
        faults.append("a label must not be empty")
    if len({label.strip().casefold() for label in offered}) < len(offered):
        faults.append(f"labels must differ by more than case, found {', '.join(map(repr, offered))}")
    return faults


def _numbers(rubric: str) -> list[int]:
    """The numbers of the lines of a rubric that have one ("1. Is it …?")."""
    return [int(number) for number in re.findall(r"^(\d{1,3})\. ", rubric, re.MULTILINE)]


def _check_texts(variant: PromptVariant, place: str) -> None:
    if variant.schema == "checklist":
        numbers = _numbers(variant.rubric)
        if not numbers or numbers != list(range(1, len(numbers) + 1)):
            raise PromptError(
                f"{place}: a checklist is answered by the numbers of its rubric items: expected lines of rubric.txt "
                f"that start with 1., 2. and so on, found the numbers {', '.join(map(str, numbers)) or 'none'}"
            )
    _check_placeholders(variant, place)


def _check_placeholders(variant: PromptVariant, place: str) -> None:
    """Every placeholder is known and the question and both answers are shown (a stray one would reach the judge)."""
    used: set[str] = set()
    for file_name, text in (("system.txt", variant.system), ("user.txt", variant.user)):
        template = Template(text)
        if not template.is_valid():
            raise PromptError(f"{place}: {file_name} has a $ that is no placeholder; write $$ for a dollar sign")
        used.update(template.get_identifiers())
    unknown = sorted(used - set(PLACEHOLDERS))
    missing = [name for name in _NEEDED if name not in used]
    faults = [f"unknown placeholder ${name}" for name in unknown] + [f"${name} is never used" for name in missing]
    if faults:
        known = ", ".join(f"${name}" for name in PLACEHOLDERS)
        raise PromptError(f"{place}: {'; '.join(faults)}. Placeholders are written {known}")
