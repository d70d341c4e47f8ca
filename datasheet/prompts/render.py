"""What a judge is shown for a stimulus, and what it may write."""

from __future__ import annotations

import json
from string import Template
from typing import Any

from datasheet.errors import PromptError
from datasheet.prompts.parsing import NO, SIDES, YES, contains_verdict, schema_of
from datasheet.prompts.variant import PromptVariant
from datasheet.records import OUTCOMES, Outcome

_REASONS = "reasons"


def render(
    variant: PromptVariant, *, question: str, first: str, second: str, reference: str = ""
) -> tuple[tuple[str, str], ...]:
    """The (role, text) messages that show a question and its two answers, in this order.

    Each text is filled in a single pass, so that dollars and braces in a question or an answer stay what they are.

    Raises
    ------
    PromptError
        The variant shows a reference answer and there is none.
    """
    shown = {
        "question": question,
        "answer_first": first,
        "answer_second": second,
        "rubric": variant.rubric,
        "reference": reference,
    }
    texts = (("system", Template(variant.system)), ("user", Template(variant.user)))
    if not reference and any("reference" in template.get_identifiers() for _, template in texts):
        raise PromptError(
            f"prompt variant {variant.name!r} shows a reference answer, and this stimulus has none: "
            "use a bank with references, or another variant"
        )
    return tuple((role, template.substitute(shown)) for role, template in texts if template.template)


def canonical_replies(variant: PromptVariant) -> dict[Outcome, str]:
    """For each outcome that the variant allows, a reply that says so and nothing else."""
    return {
        outcome: _written(variant, label) for outcome in OUTCOMES if (label := _label_of(variant, outcome)) is not None
    }


def response_schema(variant: PromptVariant) -> dict[str, Any] | None:
    """JSON Schema of the reply, for servers that can hold a judge to it; None where no JSON is asked for.

    Its members stand in the order in which the judge is to write them: reasons and checklists before the verdict.
    """
    if variant.schema not in ("json", "checklist"):
        return None
    offered = [*variant.labels, *([variant.abstention] if variant.abstention is not None else [])]
    members: dict[str, Any] = {}
    if variant.schema == "checklist":
        numbers = map(str, range(1, variant.checklist_items + 1))
        answers = _object({number: {"type": "string", "enum": [YES, NO]} for number in numbers})
        members = {label: answers for side in SIDES if (label := _label_of(variant, side)) is not None}
    elif variant.verdict_stands == "last":
        members = {_REASONS: {"type": "string"}}
    return _object(members | {"verdict": {"type": "string", "enum": offered}})


def _object(members: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


def contains_verdict_syntax(variant: PromptVariant, text: str) -> bool:
    """A text holds what the parser takes for a verdict, so that a judge that quotes it could be misread."""
    return contains_verdict(text, schema_of(variant))


def _written(variant: PromptVariant, label: str) -> str:
    """A label in the form that the variant asks for."""
    if variant.schema in ("json", "checklist"):
        before: dict[str, object] = {}
        if variant.schema == "checklist":
            before = _answered(variant, label)
        elif variant.verdict_stands == "last":
            before = {_REASONS: "Compared point by point."}
        return json.dumps(before | {"verdict": label}, ensure_ascii=False)
    return f"[[{label}]]" if variant.schema == "bracket" else label


def _answered(variant: PromptVariant, label: str) -> dict[str, object]:
    """A checklist that gives every item to the answer that wins, or to both in a tie."""
    numbers = [str(number) for number in range(1, variant.checklist_items + 1)]
    sides = [side_label for side in SIDES if (side_label := _label_of(variant, side)) is not None]
    loser = next((side for side in sides if label in sides and side != label), None)
    return {side: dict.fromkeys(numbers, NO if side == loser else YES) for side in sides}


def _label_of(variant: PromptVariant, outcome: Outcome) -> str | None:
    """The label for an outcome; an abstention stands in for a tie that has none of its own."""
    for label, meaning in variant.labels.items():
        if meaning == outcome:
            return label
    return variant.abstention if outcome == "tie" else None
