"""Arithmetic in a prompt, in signs or in simple words, spelled in signs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from toolkeel.providers.offline.lexicon import FUNCTIONS

_WORDS = (
    (r"to the power of|raised to(?: the)?(?: power of)?", "**"),
    (r"multiplied by|times|乘以|乘", "*"),
    (r"divided by|除以", "/"),
    (r"plus|加上|加", "+"),
    (r"minus|减去|减", "-"),
    (r"percent of", "% of"),
    (r"(?:the )?square root of", "sqrt of"),
    (r"squared|的平方(?!根)", "**2"),
    (r"cubed|的立方(?!根)", "**3"),
)
_SIGN_WORD = re.compile(
    "|".join(
        rf"(?P<w{i}>(?<![A-Za-z])(?:{words})(?![A-Za-z]))" for i, (words, _) in enumerate(_WORDS)
    ),
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"(?P<number>(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]*\w)|(?<![\w.])\.\d+)"
    r"|(?P<han>(?<=[\u4e00-\u9fff])\d+(?:\.\d+)?|\d+(?:\.\d+)?(?=[\u4e00-\u9fff]))"
    rf"|(?P<name>(?<!\w)(?:{'|'.join(sorted(FUNCTIONS))}|pi|e|tau)(?!\w))"
    r"|(?P<sign>% of(?!\w)|\*\*|//|[-+*/%^(),!])",
    re.IGNORECASE,
)
_PHRASE = re.compile(
    r"(?<!\w)(?:the )?(?:(?P<sum>sum of|add)|(?P<product>product of|multiply))\s+"
    r"(?P<numbers>-?\d+(?:\.\d+)?(?:(?:\s*(?:,|and|by))+\s*-?\d+(?:\.\d+)?){1,30})(?![\w.])",
    re.IGNORECASE,
)
_HALF_WIDTH: dict[int, int | str] = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    **{ord(sign): plain for sign, plain in zip("×÷−", "*/-", strict=True)},
}
_MAX_TOKENS = 80


class Expression(NamedTuple):
    """Arithmetic in a text.

    Args:
        text: In signs that a calculator reads.
        start: Index of its first character in the prompt.
        end: Index after its last.
        operators: Number of operations.
    """

    text: str
    start: int
    end: int
    operators: int


class _Token(NamedTuple):
    """A token of a text, with its first index and the index behind it."""

    text: str
    start: int
    end: int


def find_expressions(text: str) -> list[Expression]:
    """Return the longest stretches of arithmetic, from left to right.

    >>> [found.text for found in find_expressions("what is 15% of 80, and 3 plus 4?")]
    ['15% of 80', '3 + 4']
    >>> [found.text for found in find_expressions("2加3等于多少")]
    ['2 + 3']
    """
    text = text.translate(_HALF_WIDTH)
    found = [_read_phrase(match) for match in _PHRASE.finditer(text)]
    for run in _split_runs(text):
        while run:
            expression, run = _find_longest(run)
            if expression and all(
                expression.end <= known.start or known.end <= expression.start for known in found
            ):
                found.append(expression)
    return sorted(found, key=lambda expression: expression.start)


def _read_phrase(match: re.Match[str]) -> Expression:
    """Return "add 3 and 5" or "the product of 6 and 7" as an expression in signs."""
    numbers = re.findall(r"-?\d+(?:\.\d+)?", match["numbers"])
    sign = " + " if match["sum"] else " * "
    return Expression(sign.join(numbers), match.start(), match.end(), len(numbers) - 1)


def _split_runs(text: str) -> Iterator[list[_Token]]:
    """Yield the tokens of a text in runs, each with nothing but spaces between its tokens."""
    words = {m.start(): m for m in _SIGN_WORD.finditer(text)}
    run: list[_Token] = []
    position = 0
    while position < len(text):
        match = words.get(position) or _TOKEN.match(text, position)
        if match is None:
            if run and not text[position].isspace():
                yield run[:_MAX_TOKENS]
                run = []
            position += 1
            continue
        run.append(_Token(_spell_token(match), position, match.end()))
        position = match.end()
    if run:
        yield run[:_MAX_TOKENS]


def _spell_token(match: re.Match[str]) -> str:
    """Return a token in signs: a number without commas, a word as its sign."""
    group = match.lastgroup or ""
    if group.startswith("w"):
        return _WORDS[int(group[1:])][1]
    return match[0].replace(",", "") if group == "number" else match[0].lower()


def _find_longest(run: list[_Token]) -> tuple[Expression | None, list[_Token]]:
    """Return a run's first and longest valid stretch, or None, and the tokens that follow it."""
    for start in range(len(run)):
        for end in range(len(run), start + 1, -1):
            tokens = run[start:end]
            operators = _count_operators(tokens)
            if not operators:
                break
            spelled = _spell(tokens)
            if _is_expression(spelled):
                return Expression(spelled, tokens[0].start, tokens[-1].end, operators), run[end:]
    return None, []


def _count_operators(tokens: list[_Token]) -> int:
    """Return the number of operations; a sign before the first number is none, nor is "50%"."""
    if [token.text for token in tokens[1:]] == ["%"]:
        return 0
    plain = ("(", ")", ",", "pi", "e", "tau")
    first = tokens[0].text[0].isalpha() and tokens[0].text not in plain
    rest = [t for t in tokens[1:] if not t.text[0].isdigit() and t.text not in plain]
    return len(rest) + first


def _spell(tokens: list[_Token]) -> str:
    """Spell tokens as a calculator reads them."""
    out = ""
    for index, token in enumerate(tokens):
        before = tokens[index - 1].text if index else "("
        binary = token.text in ("+", "-", "*", "/", "//", "% of") and (before == ")" or before[-1].isalnum() or before in ("%", "!"))  # fmt: skip
        if before == "sqrt of":
            out += f"({token.text})"
        elif token.text == "% of":
            out += "% of "
        elif binary or token.text == ",":
            out += ", " if token.text == "," else f" {token.text} "
        else:
            out += "sqrt" if token.text == "sqrt of" else token.text
    return out.strip()


def _is_expression(spelled: str) -> bool:
    """Return True if a text is one expression by Python's grammar; nothing is evaluated."""
    plain = re.sub(r"%(?=\s*(?:$|[-+*/),]))", "/100", spelled.replace("% of", "/100*"))
    plain = re.sub(r"(?<=[\d)])!", "", plain)
    if len(plain) > 500 or re.search(
        r"(?<![\d.])0\d|\d[A-Za-z(]", re.sub(r"\d[eE][+-]?\d", "", plain)
    ):
        return False
    try:
        tree = ast.parse(plain, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return not isinstance(tree, ast.Tuple | ast.Name) and all(
        isinstance(f, ast.Name) for f in calls
    )
