"""A replacement of a passage that was quoted approximately, in which all that it repeats is as in the file.

A model that writes ``"`` for ``“`` in the passage writes it in the replacement as well, without wanting to
change it. So the replacement is compared with the passage as the model wrote it, by lines and then by
words, and what both have is taken from the file: its quotes, dashes, spaces, composed letters, spaces at
ends of lines, and line ends. A sign between two changed words is taken from the file only if the line has
the same signs in the same places.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from toolkeel_workspace.files.passages.normalized import to_plain

MAX_COMPARED = 2_000_000
"""Pairs of words up to which two passages are compared; of larger ones, only their ends are."""
_QUOTES = frozenset("'\"")
# A line end with the spaces before it, a word, equal quotes or dashes, spaces, or another character.
_TOKEN = re.compile(
    r"""[^\S\n]*\n|(?:[^\W\u3000-\U0010ffff]|[\u0300-\u036f])+|([-'".])\1*|[^\S\n]+|.""", re.DOTALL
)


class _Token(NamedTuple):
    """A token of a passage.

    Args:
        old: As the model wrote it.
        was: As in the file, with the tokens after it that are parts of the same character there.
        size: The number of these tokens, with itself; 0 for those after the first.
    """

    old: str
    was: str
    size: int = 1


def merge_replacement(was: str, old: str, new: str, ending: str) -> str | None:
    r"""Return a replacement in which all that it repeats of a passage is as in the file.

    Args:
        was: The passage in the file.
        old: The same as the model wrote it; lines end with a line feed.
        new: The replacement; lines end with a line feed.
        ending: The line end of added lines.

    Returns:
        None if quotes were added to a line that has others, so that the ones to write are not known.

    >>> merge_replacement("“a” – b", '"a" - b', '"a" - c', "\n")
    '“a” – c'
    """
    lines, sought, put = _split(was), _split(old), _split(new)
    merged = list[str]()
    same = {
        _without_end(line): _without_end(there)
        for line, there in zip(sought, lines, strict=True)
        if line.strip()
    }
    for kind, start, stop, first, last in SequenceMatcher(None, sought, put).get_opcodes():
        if kind == "equal":
            merged += lines[start:stop]
            continue
        for begin, end, added in _list_hunks((start, stop), put[first:last]):
            if len(added) == 1 and (line := _without_end(added[0])) in same:  # it was moved
                merged.append(same[line] + ending * added[0].endswith("\n"))
                continue
            pairs = zip(lines[begin:end], sought[begin:end], strict=True)
            tokens = [token for pair in pairs for token in _align(*pair)]
            if (text := _merge_tokens(tokens, "".join(added), ending)) is None:
                return None
            merged.append(text)
    return "".join(merged)


def _list_hunks(place: tuple[int, int], put: list[str]) -> list[tuple[int, int, list[str]]]:
    """List which lines replace which: line by line, if there are as many, or none."""
    start, stop = place
    if start != stop and stop - start != len(put):
        return [(start, stop, put)]
    return [(min(start + n, stop), min(start + n + 1, stop), [line]) for n, line in enumerate(put)]


def list_differences(was: str, old: str) -> list[str]:
    """List what a passage has in the file for other characters of the model's, each once."""
    found = dict[str, None]()
    for line, sought in zip(_split(was), _split(old), strict=False):
        for token in _align(line, sought):
            if token.size and token.was.strip() and token.was.rstrip() != token.old.rstrip():
                found[token.was.rstrip()] = None
    return list(found)


def _split(text: str) -> list[str]:
    """Split a text into lines that end with a line feed, but the last one."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _without_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _align(was: str, old: str) -> list[_Token]:
    """Return the tokens of a line as the model wrote it, each with its part of the line in the file."""
    if not old.endswith("\n"):
        return _align_text(was, old)
    there, body = was.rstrip(), old.rstrip()
    return [*_align_text(there, body), _Token(old[len(body) :], was[len(there) :])]


def _align_text(was: str, old: str) -> list[_Token]:
    there, ours = to_plain(was), to_plain(old)
    tokens = list[_Token]()
    parts, begin = list[str](), 0
    for match in _TOKEN.finditer(old):
        parts.append(match[0])
        place = bisect_left(ours.offsets, match.end())
        end = there.offsets[place]
        if there.offsets[place - 1] != end:  # it ends where a character of the file does
            tokens.append(_Token(parts[0], was[begin:end], len(parts)))
            tokens += [_Token(part, "", 0) for part in parts[1:]]
            parts, begin = [], end
    return tokens


def _merge_tokens(tokens: Sequence[_Token], new: str, ending: str) -> str | None:
    """Return new lines in which repeated tokens are as in the file; None if quotes get mixed."""
    words = [match[0] for match in _TOKEN.finditer(new)]
    sources = _find_repeated([token.old for token in tokens], words)
    gone = {
        token.old[0]
        for n, token in enumerate(tokens)
        if token.was != token.old and n not in sources
    }
    parts, place = list[str](), 0
    others, added = set(gone), set[str]()  # quotes that the file has in another form, and new ones
    while place < len(words):
        word, kept = words[place], _get_kept(tokens, words, sources, place)
        if kept is None:
            parts.append(word.replace("\n", ending))
            added.add(word[0])
        else:
            parts.append(kept.was)
            others |= {word[0]} if kept.was != word else set()
        if others & added & _QUOTES:
            return None
        if word[-1] == "\n":
            others, added = set(gone), set()
        place += kept.size if kept else 1
    return "".join(parts)


def _get_kept(
    tokens: Sequence[_Token], words: Sequence[str], sources: Sequence[int | None], place: int
) -> _Token | None:
    """Return the token that a new one repeats, with all that belongs to it; None if it is new."""
    source = sources[place]
    if source is None:
        return None
    token = tokens[source]
    run = list(range(source, source + token.size))
    if not run or list(sources[place : place + token.size]) != run:
        return None
    begins_line = not place or words[place - 1][-1] == "\n"
    if words[place][-1] == "\n" and not begins_line and sources[place - 1] != source - 1:
        # the spaces before a line end go with the word before them
        return token._replace(was=token.was[len(token.was.rstrip("\r\n")) :])
    return token


def _find_repeated(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    """Return the index of the token that each new one repeats, or None."""
    sources: list[int | None] = [None] * len(new)
    signs, others = ([n for n, each in enumerate(row) if not _is_word(each)] for row in (old, new))
    if _list_signs(old) == _list_signs(new):
        for sign, other in zip(signs, others, strict=True):
            sources[other] = sign
        edges = zip(
            [-1, *signs], [*signs, len(old)], [-1, *others], [*others, len(new)], strict=True
        )
        for before, after, left, right in edges:
            _match_ends(
                old[before + 1 : after], new[left + 1 : right], (before + 1, left + 1), sources
            )
    elif len(old) * len(new) > MAX_COMPARED:
        _match_ends(old, new, (0, 0), sources)
    else:
        for start, first, size in SequenceMatcher(None, old, new, False).get_matching_blocks():
            at_start = start == first == 0
            at_end = start + size == len(old) and first + size == len(new)
            if at_start or at_end or any(map(_has_context, old[start : start + size])):
                sources[first : first + size] = range(start, start + size)
    return sources


def _match_ends(
    old: Sequence[str], new: Sequence[str], place: tuple[int, int], sources: list[int | None]
) -> None:
    """Set the sources of the first and last tokens that two sequences have in common."""
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    tail = next((n for n in range(most - head) if old[-1 - n] != new[-1 - n]), most - head)
    start, first = place
    sources[first : first + head] = range(start, start + head)
    start, first = start + len(old) - tail, first + len(new) - tail
    sources[first : first + tail] = range(start, start + tail)


def _list_signs(tokens: Sequence[str]) -> list[str]:
    """List the tokens that are no words, and an empty one for one or more words."""
    signs = ["" if _is_word(token) else token for token in tokens]
    return [sign for n, sign in enumerate(signs) if sign or not n or signs[n - 1]]


def _is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] == "_"


def _has_context(token: str) -> bool:
    return _is_word(token) or token[-1] == "\n"
