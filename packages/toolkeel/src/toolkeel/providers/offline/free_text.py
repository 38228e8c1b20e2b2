"""The free text of a prompt: what is left when commands, labels and other arguments are removed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolkeel.providers.offline import lexicon
from toolkeel.providers.offline.lexicon import HAN, idea_of, is_chinese, words_of
from toolkeel.providers.offline.values import overlaps

_SAYING = re.compile(
    r"\b(?:saying|with the (?:text|message|body|content))\b[:：,]?\s*|(?:内容|正文)(?:是|为|：|:)\s*|[:：]\s+"
)
_EDGE = " \t\n,.;:!?，。；：！？、\"'“”()（）"


def after_label(text: str, labels: Iterable[str], others: Iterable[str]) -> str:
    """Return the words after one of `labels`, up to the next of `others` or a comma, or empty.

    >>> after_label("send it with subject hello there and body bye", ["subject"], ["body"])
    'hello there'
    """
    wanted = "|".join(re.escape(each) for each in labels if len(each) > 2 and each.isascii())
    if not wanted:
        return ""
    stops = "|".join(re.escape(each) for each in others if len(each) > 2 and each.isascii())
    stop = rf"\s+(?:and\s+|with\s+)*(?:the\s+|a\s+)?(?:{stops})\b|" if stops else ""
    pattern = (
        rf"\b(?:{wanted})\b\s*(?:is|of|=|:|saying|named|called)?\s+(\S.*?)(?={stop}[,;，；]|$)"
    )
    match = re.search(pattern, text[:2000], re.IGNORECASE)
    return match[1].strip(_EDGE) if match else ""


def after_saying(text: str, used: list[tuple[int, int]]) -> str:
    """Return the words after "saying" or a colon up to the end of the prompt, or empty."""
    for match in _SAYING.finditer(text):
        rest = text[match.end() :].strip(_EDGE)
        if rest and not overlaps(match.end(), match.end() + 1, used):
            return rest
    return ""


def longest_rest(text: str, used: list[tuple[int, int]], named: frozenset[str]) -> str:
    """Return the longest stretch that is neither a command nor another argument.

    >>> longest_rest("please translate hello world to French", [(32, 38)], frozenset(["translate"]))
    'hello world'
    """
    empty = named | lexicon.COMMANDS
    best = ""
    run: list[tuple[int, int, bool]] = []
    for match in [*re.finditer(rf"[{HAN}]+|[^\s{HAN}]+", text), None]:
        parts = []
        if match and is_chinese(match[0]):
            cut = words_of(match[0])
            parts = [(match.start() + w.start, match.start() + w.end, w.idea) for w in cut]
        elif match:
            word = match[0].strip(_EDGE)
            plain = word.replace("’", "'").split("'")[0]
            meaning = idea_of(plain) if plain.isalpha() else word and "?"
            parts = [(match.start(), match.end(), meaning)]
        for start, end, meaning in parts or [(len(text), len(text) + 1, "")]:
            if match and not overlaps(start, end, used):
                run.append((start, end, not meaning or meaning in empty))
                continue
            best = max(best, _trim(text, run), key=len)
            run = []
    return best


def _trim(text: str, run: list[tuple[int, int, bool]]) -> str:
    """Return a stretch of text without filler words and punctuation at its ends."""
    full = [(start, end) for start, end, empty in run if not empty]
    return text[full[0][0] : full[-1][1]].strip(_EDGE) if full else ""


def is_name(text: str) -> bool:
    """Return True for one to three words outside the lexicon, which may be a name in small letters."""
    if len(text) > 40 or len(text.split()) > 3:
        return False
    if is_chinese(text):
        return len(text) <= 8 and all(not word.known or not word.idea for word in words_of(text))
    words = re.findall(r"[^\W\d_]+", text)
    return all(idea_of(word) and idea_of(word) not in lexicon.IDEAS for word in words)
