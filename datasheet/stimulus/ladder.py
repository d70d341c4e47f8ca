"""The ladder: pairs of answers of which one meets more requirements, in five arms that move length apart from quality.

On the prefix arm a better answer is always longer, so that a judge that counts words looks like one that sees
quality. The phrasing arms move length without filler, the filled arms with it.
"""

from __future__ import annotations

from datasheet.records import Stimulus, word_count
from datasheet.seeds import child_rng
from datasheet.stimulus.chain import Chain

LADDER_ARMS = ("prefix", "terse_better", "wordy_better", "filled_even", "filled_longer")
EVEN_RATIOS = (0.9, 1.1)
LONGER_RATIOS = (1.3, 1.5)


def prefix(chain: Chain, *, worse: int, better: int) -> Stimulus:
    """The better answer goes on, word for word, where the worse one ends."""
    return chain.stimulus("ladder", "prefix", chain.answer(better), chain.answer(worse), levels=(better, worse))


def terse_better(chain: Chain, *, worse: int, better: int) -> Stimulus:
    """The better answer says its requirements tersely, the worse one wordily."""
    return _phrased(chain, "terse_better", ("terse", "wordy"), worse=worse, better=better)


def wordy_better(chain: Chain, *, worse: int, better: int) -> Stimulus:
    """The better answer says its requirements wordily, the worse one tersely."""
    return _phrased(chain, "wordy_better", ("wordy", "terse"), worse=worse, better=better)


def filled_even(chain: Chain, *, worse: int, better: int, seed: int) -> Stimulus:
    """The worse answer is filled up to the better one's length, as nearly as the filler allows."""
    return _filled(chain, "filled_even", worse=worse, better=better, seed=seed)


def filled_longer(chain: Chain, *, worse: int, better: int, seed: int) -> Stimulus:
    """The worse answer is filled up to just over 1.3 times the better one's length."""
    return _filled(chain, "filled_longer", worse=worse, better=better, seed=seed)


def _phrased(chain: Chain, arm: str, phrasings: tuple[str, str], *, worse: int, better: int) -> Stimulus:
    answer_a = chain.answer(better, phrasing=phrasings[0])
    answer_b = chain.answer(worse, phrasing=phrasings[1])
    return chain.stimulus("ladder", arm, answer_a, answer_b, levels=(better, worse))


def _filled(chain: Chain, arm: str, *, worse: int, better: int, seed: int) -> Stimulus:
    answer_a, bare_b = chain.answer(better), chain.answer(worse)
    words_a, words_b = word_count(answer_a), word_count(bare_b)
    rng = child_rng(seed, "filler", chain.task.id, arm, worse, better)
    sentences = [chain.task.filler[i] for i in rng.permutation(len(chain.task.filler))]
    subsets = _subsets_by_words(sentences, limit_words=2 * words_a)
    if arm == "filled_even":
        words = min(subsets, key=lambda total: abs(words_b + total - words_a))
    else:
        # Where even all of the filler is too short, the longest subset is made and the gates say so.
        enough = [total for total in subsets if (words_b + total) / words_a >= LONGER_RATIOS[0]]
        words = min(enough) if enough else max(subsets)
    answer_b = " ".join([bare_b, *subsets[words]])
    return chain.stimulus("ladder", arm, answer_a, answer_b, levels=(better, worse), filler_b=words)


def _subsets_by_words(sentences: list[str], *, limit_words: int) -> dict[int, tuple[str, ...]]:
    """For each total of words that some of the sentences add up to, the first such subset."""
    subsets: dict[int, tuple[str, ...]] = {0: ()}
    for sentence in sentences:
        words = word_count(sentence)
        for total, subset in list(subsets.items()):
            if total + words <= limit_words:
                subsets.setdefault(total + words, (*subset, sentence))
    return subsets
