"""Why a reply has no reading: a closed list, and inside this package the one way to say so."""

from __future__ import annotations

REASON_SENTENCES: dict[str, str] = {
    "empty": "The reply holds no text.",
    "refusal": "The judge declined to judge.",
    "filtered": "The server's content filter withheld the reply.",
    "context_length": "The prompt did not fit into the judge's context.",
    "truncated": "The reply was cut off before its verdict; a larger max_tokens may mend it.",
    "truncated_reasoning": "The reply was cut off inside its reasoning; a larger max_tokens may mend it.",
    "no_verdict": "The reply holds no verdict in the form that was asked for.",
    "conflicting": "The reply holds several verdicts that differ, and none of them is the final one.",
    "conflicting_keys": "The reply's JSON gives the verdict more than once, with different values.",
    "missing_key": "The reply's JSON lacks the key of the verdict.",
    "not_allowed": "The reply's verdict is none of those that the prompt allows.",
    "out_of_range": "The reply's number lies outside the scale.",
    "wrong_denominator": "The reply's number is out of another maximum than the scale's.",
    "ambiguous": "The reply can be read in more than one way.",
}
INVALID_REASONS: tuple[str, ...] = tuple(REASON_SENTENCES)


class NoReadingError(Exception):
    """Raised and caught inside this package: the text has no reading, for one of the reasons above."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
