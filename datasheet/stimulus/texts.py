"""What a text that a judge is shown may not hold: verdicts, marks of how it was made, characters that no one sees."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

_VERDICTS = re.compile(
    r"\[\[\s*[\w.<>=-]{1,12}\s*\]\]"
    r"|\b(?:Answer|Assistant|Response|Output|Candidate)\s+(?:[AB12](?![\w'-])|\([ABab12]\))"
    r"|\b[AB](?:>{1,2}|<{1,2}|=)[AB]\b"
    r"|\"(?:verdict|winner|choice|rating|score)\"\s*:"
    r"|\b(?i:verdict|final rating)\s*[:=]"
)
_MARKS = re.compile(
    r"\b(?:terse|wordy)[_-]better\b|\bfilled[_-](?:even|longer)\b|\b(?:same|different)[_-]subset\b|\bsame[_-]quality\b"
    r"|\blevel[ _-]?[0-5]\b|\bL[0-5]\b|\bdelta[ _-]?q\b|ΔQ",
    re.IGNORECASE,
)
_UNSEEN_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def text_faults(text: str, *, identifiers: Iterable[str] = ()) -> Iterator[str]:
    """One sentence for each thing in a text that could tell a judge more than the answers do.

    ``identifiers`` are looked for where prose would hardly hold them, with two hyphens, a low line or a digit:
    "apology" or "clearing-up" is no mark.
    """
    if found := _VERDICTS.search(text):
        yield f"holds verdict syntax, {found[0]!r}: a judge may copy it and a parser may read it"
    if found := _MARKS.search(text):
        yield f"tells how it was made, {found[0]!r}: a judge must not see levels or arms"
    for identifier in identifiers:
        if re.search(r"-.*-|[_0-9]", identifier) and identifier.casefold() in text.casefold():
            yield f"holds the identifier {identifier!r}: a judge must not see ids; change the one or the other"
    unseen = {c for c in text if unicodedata.category(c) in _UNSEEN_CATEGORIES and c not in "\n\t"}
    if unseen:
        named = ", ".join(f"U+{ord(c):04X}" for c in sorted(unseen))
        yield f"holds control characters or characters without a shape ({named}): take them out"
