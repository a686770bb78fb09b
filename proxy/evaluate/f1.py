"""F1 between an answer and the true one, word by word, to the letter as azure-ai-evaluation's ``F1ScoreEvaluator``.

The normalisation is that of SQuAD (Rajpurkar et al. 2016): lower case, no ASCII punctuation, no articles, words between
blanks. An answer without words scores 0, also beside a true one without words.
"""

from __future__ import annotations

import re
import string
from collections import Counter

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_MARKS = str.maketrans("", "", string.punctuation)


def words_of(text: str) -> list[str]:
    """The words that count."""
    return _ARTICLES.sub(" ", text.lower().translate(_NO_MARKS)).split()


def f1(response: str, ground_truth: str) -> float:
    """The harmonic mean of the shares of each text's words that the other has too, in [0, 1]."""
    said, true = words_of(response), words_of(ground_truth)
    common = (Counter(said) & Counter(true)).total()
    if not common:
        return 0.0
    precision, recall = common / len(said), common / len(true)
    return (2.0 * precision * recall) / (precision + recall)
