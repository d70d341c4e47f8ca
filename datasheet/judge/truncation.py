"""Prompts that a server cut in silence: only the count of tokens tells."""

from __future__ import annotations

# Ordinary prose has 4 to 5 characters a token, the longest-worded languages and code with deep indents up to 6 or so;
# above 8 the model can't have seen the whole text. Servers that cut do so at 2,048 tokens and more, so that a prompt
# below 8 times that is never suspected for its odd characters.
_MOST_CHARACTERS_PER_TOKEN = 8
_LEAST_CUT_TOKENS = 2_000


def looks_truncated(prompt_characters: int, prompt_tokens: int | None) -> bool:
    """Whether a server seems to have cut a long prompt in silence: it counts too few tokens for its characters.

    A cut to half and less is found; a smaller one can't be told from a text of long words.
    """
    if prompt_tokens is None or prompt_characters < _LEAST_CUT_TOKENS * _MOST_CHARACTERS_PER_TOKEN:
        return False
    return prompt_tokens * _MOST_CHARACTERS_PER_TOKEN < prompt_characters
