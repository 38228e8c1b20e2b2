"""The free text of a prompt: what remains when commands, labels and used values are taken away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from toolkeel.providers.offline import concepts
from toolkeel.providers.offline.words import idea, pieces

Span = tuple[int, int]

_ATOM = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+|[^\s\u3400-\u4dbf\u4e00-\u9fff]+")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_EDGE = " \t\n,.;:!?，。；：！？、\"'“”()（）"
_SAYING = re.compile(
    r"\b(?:saying|says|that says|with the (?:text|message|body|content)|which reads)\b[:：,]?\s*"
    r"|(?:内容|正文|消息)(?:是|为|：|:)\s*|说[：:，]?\s*|[:：]\s+"
)


class _Atom(NamedTuple):
    start: int
    end: int
    empty: bool  # says nothing by itself
    used: bool  # belongs to another argument


def rest(text: str, used: Sequence[Span], said: Iterable[str]) -> str:
    """The longest stretch of a prompt that is neither command nor another argument.

    Args:
        text: The prompt.
        used: Where values stand that other slots took.
        said: Ideas of the tool's name and of its parameters' names, which only name the wish.

    >>> rest("please translate hello world to French", [(32, 38)], ["translate", "language"])
    'hello world'
    >>> rest("帮我搜索猫的图片", [], ["search"])
    '猫的图片'
    """
    atoms = _atoms(text, used, frozenset(said) | concepts.COMMANDS)
    best = ""
    run: list[_Atom] = []
    for atom in [*atoms, _Atom(0, 0, True, True)]:
        if not atom.used:
            run.append(atom)
            continue
        stretch = _trimmed(text, run)
        best = stretch if len(stretch) > len(best) else best
        run = []
    return best


def after_saying(text: str, used: Sequence[Span]) -> str:
    """What follows "saying" or a colon, up to the end of the prompt.

    >>> after_saying("tell Bob a message saying I will be late.", [])
    'I will be late'
    """
    for match in _SAYING.finditer(text):
        following = text[match.end() :].strip(_EDGE)
        if following and not any(start <= match.end() < end for start, end in used):
            return following
    return ""


def labelled(text: str, labels: Iterable[str], others: Iterable[str]) -> str:
    """The words after one of `labels`, up to the next of `others` or a comma.

    >>> labelled("send it with subject hello there and body bye", ["subject"], ["body"])
    'hello there'
    """
    wanted = "|".join(re.escape(label) for label in labels if len(label) > 2 and label.isascii())
    if not wanted:
        return ""
    stops = "|".join(re.escape(label) for label in others if len(label) > 2 and label.isascii())
    stop = rf"\s+(?:and\s+|with\s+)*(?:the\s+|a\s+)?(?:{stops})\b|" if stops else ""
    pattern = (
        rf"\b(?:{wanted})\b\s*(?:is|of|=|:|saying|named|called)?\s+(\S.*?)(?={stop}[,;，；]|$)"
    )
    match = re.search(pattern, text[:2000], re.IGNORECASE)
    return match[1].strip(_EDGE) if match else ""


def plain_words(text: str) -> bool:
    """Whether a text is short and holds no everyday word: it may be a name written small."""
    if not text or len(text) > 40 or len(text.split()) > 3:
        return False
    if _HAN.search(text):
        return len(text) <= 8 and not any(piece.known and piece.idea for piece in pieces(text))
    return all(
        idea(word) and idea(word) not in concepts.IDEAS for word in re.findall(r"[^\W\d_]+", text)
    )


def _atoms(text: str, used: Sequence[Span], empty: frozenset[str]) -> list[_Atom]:
    found: list[_Atom] = []
    for match in _ATOM.finditer(text):
        parts = [(match.start(), match.end(), "")]
        if _HAN.match(match[0]):
            cut = pieces(match[0], match.start())
            parts = [(p.start, p.start + len(p.text), p.idea if p.known else "?") for p in cut]
        for start, end, meaning in parts:
            taken = any(start < stop and begin < end for begin, stop in used)
            word = text[start:end].strip(_EDGE)
            says = meaning if _HAN.match(word or "x") else _says(word)
            found.append(_Atom(start, end, not says or says in empty, taken))
    return found


def _says(word: str) -> str:
    """The idea of one English word with whatever is stuck to it; empty if it says nothing."""
    plain = word.lower().replace("’", "'")
    if not plain or plain.split("'")[0] in concepts.STOP or plain in ("what's", "let's"):
        return ""
    return idea(plain) if plain.isalpha() else "?"


def _trimmed(text: str, run: list[_Atom]) -> str:
    while run and run[0].empty:
        run = run[1:]
    while run and run[-1].empty:
        run = run[:-1]
    return text[run[0].start : run[-1].end].strip(_EDGE) if run else ""
