"""Takes off what wraps a verdict: reasoning blocks, look-alike characters, markup, and excess length."""

from __future__ import annotations

import re

from datasheet.prompts.parsing.reasons import NoReadingError

# A verdict stands near the start or the end. What lies between is reasoning, and reading it would take unbounded time.
_HEAD = 12_000
_TAIL = 12_000

_REASONING_ENDS = ("</think>", "</thinking>", "</thought>", "</reasoning>", "</THINK>", "</THINKING>")
# A tag in quotes or backticks is talked about, not opened.
_REASONING_STARTS = re.compile(r"(?<![\"'`])<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


# Control characters but the line feed, zero-width and bidi marks, variation selectors.
_UNSEEN = (
    *(range(0x0A), range(0x0B, 0x20), range(0x7F, 0xA0), range(0xAD, 0xAE), range(0x61C, 0x61D)),
    *(range(0x180B, 0x180F), range(0x200B, 0x2010), range(0x202A, 0x202F), range(0x2060, 0x2070)),
    *(range(0xFE00, 0xFE10), range(0xFEFF, 0xFF00), range(0xFFF9, 0xFFFC), range(0xE0000, 0xE0080)),
)
_PLAIN: dict[int, str | None] = {
    **{code: None for unseen in _UNSEEN for code in unseen},
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},  # full-width forms
    **dict.fromkeys(map(ord, "\t\u00a0\u2007\u202f\u3000"), " "),
    **dict.fromkeys(map(ord, "\r\x85\u2028\u2029"), "\n"),
    **dict.fromkeys(map(ord, "‘’‚"), "'"),
    **dict.fromkeys(map(ord, "【〔"), "["),
    **dict.fromkeys(map(ord, "】〕"), "]"),
    ord("≫"): ">>",
    ord("*"): None,
    ord("`"): None,
}


def clean(text: str) -> str:
    """The text after the reasoning, in plain characters and without bold marks or fences, cut to a bounded length.

    Raises
    ------
    NoReadingError
        The reasoning has no end, or there is no text.
    """
    for end in _REASONING_ENDS:
        _, found, after = text.rpartition(end)
        if found:
            text = after
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n\n{text[-_TAIL:]}"
    if _REASONING_STARTS.search(text):
        raise NoReadingError("truncated_reasoning")
    text = in_plain_characters(text).strip()
    if not text:
        raise NoReadingError("empty")
    return text


def in_plain_characters(text: str) -> str:
    """The text without look-alikes of ASCII characters, unseen characters, bold marks and fences."""
    return text.translate(_PLAIN)
