"""What stands behind the @ of a key, in words: the arm, order, kind or channel that a characteristic is of."""

from __future__ import annotations

CONDITIONS = {
    "ab": "prefix arm, better answer shown first",
    "ba": "prefix arm, better answer shown second",
    "terse_better": "better answer terse, worse one wordy",
    "wordy_better": "better answer wordy, worse one terse",
    "filled_even": "worse answer filled up to the better one's length",
    "filled_longer": "worse answer filled to 1.3 times the better one's length",
    "empty": "both answers empty",
    "whitespace": "both answers blank",
    "identical": "both answers the same text",
    "different_subset": "equally many, but different requirements met",
    "natural": "natural pairs, both orders",
    "repetition": "own points restated, a sentence a dose",
    "format": "plain, bullets, headings and bold",
    "hedging": "hedging phrases",
    "courtesy": "courteous phrases",
    "authority": "made-up authorities",
    "self_identification": "signed as of the judge's maker",
    "injection": "an order to the judge to choose it",
    "call_noise": "two calls on one presentation, taken as if they were a swap: what call noise alone gives",
    "prefix": "prefix arm alone, where length grows with quality",
}
