"""The verdict of a reply, kept in the place of the judge's own words where a log keeps no raw replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from datasheet.identity import canonical_json
from datasheet.records import OUTCOMES, Reply, Verdict
from datasheet.strict_json import decode


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyReader:
    """What reads the verdict in a reply while the judge's own words are still there, and its name."""

    parser: str
    read: Callable[[Reply], Verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptVerdict:
    """A verdict that can't be read again, and the parser that read it."""

    parser: str
    verdict: Verdict


_FITS: Mapping[str, Callable[[Any], bool]] = {
    "parser": lambda value: isinstance(value, str),
    "outcome": lambda value: value in OUTCOMES,
    "invalid": lambda value: isinstance(value, str),
    "abstained": lambda value: value is True,
    "strength": lambda value: type(value) is int,
    "score": lambda value: type(value) in (int, float),
    "label": lambda value: isinstance(value, str),
    "flags": lambda value: isinstance(value, list) and all(isinstance(flag, str) for flag in value),
}


def kept_text(reader: ReplyReader, reply: Reply) -> str:
    """What a log keeps of a reply's verdict: JSON, without what is not so."""
    said = {
        name: value
        for name, value in asdict(reader.read(reply)).items()
        if value is not None and value is not False and value != ()
    }
    return canonical_json({**said, "parser": reader.parser})


def kept_verdict(text: str) -> KeptVerdict | None:
    """The verdict that a log kept, or None where it kept the reply.

    Raises
    ------
    ValueError
        The text is not what :func:`kept_text` writes.
    """
    if not text:
        return None
    held = decode(text)
    if not isinstance(held, dict) or "parser" not in held:
        raise ValueError("a verdict is an object with its parser")
    odd = [name for name, value in held.items() if name not in _FITS or not _FITS[name](value)]
    if odd:
        raise ValueError(f"a verdict has no such {', '.join(odd)}")
    said = {name: value for name, value in held.items() if name != "parser"}
    return KeptVerdict(parser=held["parser"], verdict=Verdict(**{**said, "flags": tuple(said.get("flags", ()))}))
