"""What a server means by an error: the wording differs from server to server, the meanings are few."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

Meaning = Literal["content_filter", "context_length", "quota", "rate_limit", "overloaded", "roles", "unknown"]

_CODES: dict[str, Meaning] = {
    "content_filter": "content_filter",
    "content_policy_violation": "content_filter",
    "responsibleaipolicyviolation": "content_filter",
    "context_length_exceeded": "context_length",
    "exceed_context_size_error": "context_length",
    "insufficient_quota": "quota",
    "insufficient_credits": "quota",
    "billing_error": "quota",
    "billing_hard_limit_reached": "quota",
    "billing_not_active": "quota",
    "rate_limit_exceeded": "rate_limit",
    "rate_limit_error": "rate_limit",
    "too_many_requests": "rate_limit",
    "resource_exhausted": "rate_limit",
    "overloaded_error": "overloaded",
    "service_unavailable": "overloaded",
    "unavailable": "overloaded",
}
# For servers that send no code: words of the message. "quota" alone is a rate limit, since providers count calls a
# minute as a quota too; that money has run out is said by a code, or by a word for money.
_WORDS: tuple[tuple[Meaning, re.Pattern[str]], ...] = (
    ("content_filter", re.compile(r"content.?filter|content management policy|content policy|safety system")),
    ("quota", re.compile(r"credit balance|(insufficient|not enough|out of|no) (account )?(credit|balance|fund)")),
    (
        "context_length",
        re.compile(
            r"maximum context length|maximum model length|context.{0,20} exceed|exceed.{0,40} context |"
            r"(prompt|input) is too long|inputs.? tokens \+"
        ),
    ),
    ("rate_limit", re.compile(r"rate.?limit|too many requests|quota")),
    ("overloaded", re.compile(r"overload|temporarily unavailable|at capacity|try again later")),
    (
        "roles",
        re.compile(
            r"roles must alternate|only user.{0,30} roles are supported|"
            r"\bsystem\b.{0,4} (role|message|prompt)s?.{0,20} (not|unsupported)|support.{0,10}\bsystem\b"
        ),
    ),
)
_REFUSES_A_FIELD = re.compile(
    r"unsupported|not support|n't support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|extra|invalid|"
    r"must be|should be|out of range|too large|too high"
)
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?s")
# Only the head of a message is searched, so that no page of HTML costs time.
_SEARCHED_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiError:
    """An error as the server told it.

    Attributes
    ----------
    codes
        Everything that classes it (code, type, status, an inner code), in lower case.
    parameter
        The field of the request that it names, or "".
    retry_after_s
        Seconds to wait, where the error itself says so, as Google's do.
    """

    message: str
    codes: frozenset[str] = frozenset()
    parameter: str = ""
    retry_after_s: float | None = None

    @property
    def status(self) -> int | None:
        """An HTTP status given as a code inside the error, as gateways do under a 200."""
        return next((int(code) for code in sorted(self.codes) if re.fullmatch("[45][0-9]{2}", code)), None)

    @property
    def meaning(self) -> Meaning:
        """What it is about; a code weighs more than the words of the message."""
        for code in sorted(self.codes & _CODES.keys()):
            return _CODES[code]
        words = self._words()
        return next((meaning for meaning, said in _WORDS if said.search(words)), "unknown")

    def datum(self, status: int | None) -> str:
        """What the error says of the stimulus alone, as a finish reason, or "" where it is no reading.

        A prompt that is filtered or too long is a property of the stimulus. ``status`` is the request's, or None where
        it is not known; a 200 is one, for gateways put errors under it.
        """
        about_request = status is None or 200 <= status < 300 or status in (400, 403, 413, 422, 500)
        return self.meaning if about_request and self.meaning in ("content_filter", "context_length") else ""

    def refused_field(self, sent: Collection[str]) -> str:
        """The one of the sent fields that the server does not take, or "" where it names none."""
        parameter = re.split(r"[.\[]", self.parameter)[0]
        if parameter in sent:
            return parameter
        words = self._words()
        if not _REFUSES_A_FIELD.search(words):
            return ""
        return next(
            (name for name in sorted(sent) if re.search(rf"(?<![\w-]){re.escape(name.lower())}(?![\w-])", words)), ""
        )

    def _words(self) -> str:
        return self.message[:_SEARCHED_CHARACTERS].lower()


def read_error(document: object) -> ApiError | None:
    """The error in a body, under ``error``, at the top level or in a list; None where there is none."""
    if isinstance(document, list) and document:
        document = document[0]
    if not isinstance(document, dict):
        return None
    found = document.get("error")
    if not found and document.get("object") == "error":
        found = document
    if found and isinstance(found, str):
        return ApiError(message=found)
    if not found or not isinstance(found, dict):
        return None
    inner = found.get("innererror")
    inner_code = inner.get("code") if isinstance(inner, dict) else None
    named = (found.get("code"), found.get("type"), found.get("status"), inner_code)
    message, parameter = found.get("message"), found.get("param")
    return ApiError(
        message=message if isinstance(message, str) else str(found),
        codes=frozenset(str(code).lower() for code in named if isinstance(code, str | int)),
        parameter=parameter if isinstance(parameter, str) else "",
        retry_after_s=_retry_delay_s(found.get("details")),
    )


def _retry_delay_s(details: object) -> float | None:
    """The delay among the details of an error (``{"retryDelay": "34.5s"}``)."""
    listed = details if isinstance(details, list) else []
    delays = (detail.get("retryDelay") for detail in listed if isinstance(detail, dict))
    return next((float(delay[:-1]) for delay in delays if isinstance(delay, str) and _SECONDS.fullmatch(delay)), None)
