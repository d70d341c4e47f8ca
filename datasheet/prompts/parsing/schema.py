"""What a judge was asked to write: the form of its verdict and the labels that it may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from datasheet.prompts.variant import PromptVariant
from datasheet.records import Outcome

Kind = Literal[
    "json",
    "bracket",
    "choice",
    "output_a_b",
    "five_level",
    "ranking",
    "two_scores",
    "rating",
    "labels",
    "binary",
    "single_token",
    "checklist",
]

_AB: Mapping[str, Outcome] = {"A": "first", "B": "second"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The form of a verdict.

    Attributes
    ----------
    kind
        ``json`` a key of a JSON object; ``bracket`` [[A]]; ``choice`` "Choice: A"; ``output_a_b`` "Output (a)";
        ``five_level`` [[A>>B]]; ``ranking`` JSON with ``ordered_models``; ``two_scores`` "8 9"; ``rating`` one number;
        ``labels`` one of some names; ``binary`` pass or fail; ``single_token`` a label and nothing else; ``checklist``
        JSON with yes or no to each item for each answer.
    labels
        From what the judge writes to the outcome (pairs of answers).
    names
        The labels of kind ``labels``, which stand for themselves.
    abstention
        A label that reads as a tie and is counted apart.
    scale
        Lowest and highest number, where the verdict is a number.
    keys
        Keys of a JSON object that may hold the verdict.
    items
        Number of items of a checklist.
    last
        Text may come before the verdict, and the last one counts; else two different ones conflict.
    """

    kind: Kind
    labels: Mapping[str, Outcome] = field(default_factory=lambda: dict(_AB))
    names: tuple[str, ...] = ()
    abstention: str | None = None
    scale: tuple[float, float] | None = None
    keys: tuple[str, ...] = ("verdict", "winner")
    items: int = 0
    last: bool = True

    @property
    def ties_allowed(self) -> bool:
        """A verdict can be a tie."""
        return "tie" in self.labels.values() or self.abstention is not None

    @property
    def offered(self) -> tuple[str, ...]:
        """Everything that the judge may write for a verdict."""
        if self.names:
            return self.names
        return (*self.labels, *((self.abstention,) if self.abstention is not None else ()))


def schema_of(variant: PromptVariant) -> Schema:
    """The schema that a prompt variant asks for."""
    return Schema(
        kind=variant.schema,
        labels=variant.labels,
        abstention=variant.abstention,
        keys=("verdict",),
        items=variant.checklist_items,
        last=variant.verdict_stands == "last",
    )


FOREIGN_SCHEMAS: Mapping[str, Schema] = {
    "double_bracket": Schema(kind="bracket", labels={**_AB, "C": "tie"}),
    "choice": Schema(kind="choice"),
    "output_a_b": Schema(kind="output_a_b", labels={"a": "first", "b": "second", "tie": "tie"}, last=False),
    "five_level": Schema(
        kind="five_level",
        labels={"A>>B": "first", "A>B": "first", "A=B": "tie", "B>A": "second", "B>>A": "second"},
    ),
    "ranking": Schema(kind="ranking", labels={"m": "first", "M": "second"}),
    "single_token": Schema(kind="single_token", labels={"m": "first", "M": "second"}),
    "two_scores": Schema(kind="two_scores", scale=(1, 10)),
    "rating": Schema(kind="rating", scale=(1, 10), keys=("score", "rating")),
    "binary": Schema(kind="binary", names=("pass", "fail"), keys=("pass", "passed", "verdict")),
}
"""Forms that public logs of judges are written in, by name."""
