"""What is still to ask: the planned trials that no reading answers yet."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TypeAlias

from datasheet.records import Request, Trial

Planned: TypeAlias = tuple[Trial, Request]


def pending(planned: Iterable[Planned], answered: Container[str]) -> list[Planned]:
    """The planned trials whose key is not among ``answered``, in their order.

    A key that comes twice is the same presentation twice, which one reading answers: it is kept once.
    """
    to_ask: dict[str, Planned] = {}
    for trial, request in planned:
        if request.key not in answered:
            to_ask.setdefault(request.key, (trial, request))
    return list(to_ask.values())
