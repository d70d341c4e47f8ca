"""The instrument at hand: a judge under a prompt variant, and the requests that a plan makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from datasheet.identity import canonical_json, judge_id, trial_key
from datasheet.judge.base import Judge
from datasheet.prompts import PromptVariant, canonical_replies, contains_verdict_syntax, render, response_schema
from datasheet.prompts.variant import variant_content
from datasheet.records import Request, Trial
from datasheet.stimulus.bank import TaskBank
from datasheet.trials.pending import Planned


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrument:
    """A judge, as it was named, under a prompt variant."""

    name: str
    judge: Judge
    variant: PromptVariant

    @property
    def judge_id(self) -> str:
        """Identity: adapter kind, model, prompt, rubric and decoding settings."""
        return judge_id(
            adapter=self.judge.adapter,
            model=self.judge.model,
            prompt_hash=self.variant.prompt_hash,
            rubric_hash=self.variant.rubric_hash,
            decoding=self.judge.decoding,
        )

    def described(self, bank: TaskBank, *, design: str, seed: int, repeats: int | None) -> Mapping[str, str]:
        """What a trial log keeps: the instrument, the plan, and the variant itself, so that it can be read alone."""
        return {
            "judge_id": self.judge_id,
            "judge": self.name,
            "model": self.judge.model,
            "adapter": self.judge.adapter,
            "decoding": canonical_json(dict(self.judge.decoding)),
            "simulated": "yes" if self.judge.simulated else "no",
            "prompt": self.variant.name,
            "prompt_hash": self.variant.prompt_hash,
            "rubric_hash": self.variant.rubric_hash,
            "variant": variant_content(self.variant),
            "bank": bank.name,
            "bank_hash": bank.bank_hash,
            "language": bank.language,
            "design": design,
            "seed": str(seed),
            "repeats": "" if repeats is None else str(repeats),
        }

    def requests(self, trials: Sequence[Trial]) -> list[Planned]:
        """Each trial with the request that it makes; nothing in a request tells levels, arms or identities."""
        replies, schema, identity = canonical_replies(self.variant), response_schema(self.variant), self.judge_id
        planned = []
        for trial in trials:
            first, second = trial.stimulus.shown(trial.order)
            messages = render(
                self.variant,
                question=trial.stimulus.question,
                first=first,
                second=second,
                reference=trial.stimulus.reference,
            )
            request = Request(
                key=trial_key(identity, messages, trial.order, trial.repeat),
                messages=messages,
                first=first,
                second=second,
                replies=replies,
                response_schema=schema,
                max_tokens=self.variant.max_tokens,
                top_logprobs=self.variant.top_logprobs,
                repeat=trial.repeat,
            )
            planned.append((trial, request))
        return planned

    def stimuli_with_verdicts(self, trials: Sequence[Trial]) -> int:
        """Number of stimuli whose answers hold text that this variant would read as a verdict."""
        stimuli = {trial.stimulus.id: trial.stimulus for trial in trials}
        return sum(
            contains_verdict_syntax(self.variant, f"{stimulus.answer_a}\n{stimulus.answer_b}")
            for stimulus in stimuli.values()
        )
