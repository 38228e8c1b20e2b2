"""Find arithmetic in a prompt, written in signs or in words, and spell it in signs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from toolkeel.providers.offline import concepts

_CONSTANTS = frozenset(("pi", "π", "e", "tau"))

_SIGN_WORDS = (
    (r"to the power of|raised to(?: the)?(?: power of)?", "**"),
    (r"multiplied by|times|乘以|乘", "*"),
    (r"divided by|除以", "/"),
    (r"plus|加上|加", "+"),
    (r"minus|减去|减", "-"),
    (r"mod(?:ulo)?", "%"),
    (r"percent of|percent|% of", "% of"),
)
_AFTER_WORDS = (
    (r"的平方根", "sqrt"),
    (r"的立方根", "cbrt"),
    (r"的阶乘|factorial", "factorial"),
    (r"的平方|squared", "**2"),
    (r"的立方|cubed", "**3"),
    (r"的(?=\d+(?:\.\d+)?\s*(?:次方|%))", "的"),
    (r"次方", ""),
)
_NUMBER = r"-?\d+(?:\.\d+)?"
_LIST = (
    rf"(?P<numbers>(?<![\d.-]){_NUMBER}(?:(?:\s*(?:,|and|和|、|by|from))+\s*{_NUMBER}){{1,30}}+)"
)
_PHRASES = (
    (rf"(?:the )?(?:sum of|total of|add(?:ing)?|sum)\s+{_LIST}", " + "),
    (rf"(?:the )?(?:product of|multiply(?:ing)?)\s+{_LIST}", " * "),
    (rf"(?:the )?(?:difference (?:of|between))\s+{_LIST}", " - "),
    (rf"divid(?:e|ing)\s+{_LIST}", " / "),
    (rf"subtract(?:ing)?\s+{_LIST}", "from"),
    (rf"(?:the )?(?:average|mean)(?: of)?\s+{_LIST}", "mean"),
    (rf"{_LIST}\s*的和|{_LIST.replace('numbers', 'more')}\s*(?:相加|之和)", " + "),
    (rf"{_LIST}\s*的?(?:乘积|积)|{_LIST.replace('numbers', 'more')}\s*相乘", " * "),
    (rf"{_LIST}\s*的?平均(?:数|值)?", "mean"),
)
_BEFORE_WORDS = (
    (r"(?:the )?square root of", "sqrt"),
    (r"(?:the )?cube root of", "cbrt"),
    (r"(?:the )?factorial of", "factorial"),
    (r"(?:the )?square of", "square"),
    (r"(?:the )?cube of", "cube"),
)


def _alternatives(name: str, table: tuple[tuple[str, str], ...]) -> str:
    """One group per table; letters need word borders, Chinese characters do not."""
    words = "|".join(f"(?<![A-Za-z])(?:{w})(?![A-Za-z])" for w, _ in table)
    return f"(?P<{name}>{words})"


_TOKEN = re.compile(
    r"(?P<number>(?<![\w.])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|(?<![A-Za-z_\d.])\d+(?:\.\d+)?(?:[eE][+-]?\d+(?!\w))?|(?<![\w.])\.\d+)"
    + "|"
    + "|".join(
        (
            _alternatives("before", _BEFORE_WORDS),
            _alternatives("word", _SIGN_WORDS),
            _alternatives("after", _AFTER_WORDS),
        )
    )
    + r"|(?P<name>(?<![A-Za-z_])[A-Za-zπ][A-Za-z0-9]*(?![A-Za-z_]))"
    + r"|(?P<sign>\*\*|//|[-+*/%^(),!×÷−²³])",
    re.IGNORECASE,
)
_PHRASE = [
    (re.compile(rf"(?<!\w){p}(?![\w.])" if p.isascii() else p, re.I), m) for p, m in _PHRASES
]
_PLAIN = str.maketrans("×÷−", "*/-")
_HALF_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_MAX_TOKENS = 80
_TIGHT = frozenset(("(", ")", ",", "!", "%", "**", "^", "% of"))
"""Signs without blanks around them."""


class Expression(NamedTuple):
    """Arithmetic in a text.

    Args:
        text: In signs a calculator reads.
        start: Where it begins in the prompt.
        end: Index after its end.
        operators: How many operations it has.
    """

    text: str
    start: int
    end: int
    operators: int


class _Token(NamedTuple):
    kind: str  # number, sign, function, after, before
    text: str
    start: int
    end: int


def find_expressions(text: str) -> list[Expression]:
    """The longest stretches of arithmetic, from left to right.

    >>> [found.text for found in find_expressions("what is 15% of 80, and the square root of 16?")]
    ['15% of 80', 'sqrt(16)']
    >>> [found.text for found in find_expressions("3的平方加4")]
    ['3**2 + 4']
    """
    text = text.translate(_HALF_WIDTH)
    found: list[Expression] = list(_phrases(text))
    for run in _runs(text):
        while run:
            expression, run = _longest(run)
            if expression and not any(
                e.start < expression.end and expression.start < e.end for e in found
            ):
                found.append(expression)
    return sorted(found, key=lambda expression: expression.start)


def _phrases(text: str) -> Iterator[Expression]:
    """Arithmetic said with a verb or a noun: "add 3 and 5", "the product of 6 and 7"."""
    for pattern, sign in _PHRASE:
        for match in pattern.finditer(text):
            numbers = re.findall(_NUMBER, next(group for group in match.groups() if group))
            if sign == "mean":
                spelt = f"mean({', '.join(numbers)})"
            elif sign == "from":
                spelt = " - ".join(numbers[:: -1 if " from " in match[0] else 1])
            else:
                spelt = sign.join(numbers)
            yield Expression(spelt, match.start(), match.end(), len(numbers) - 1)


def _runs(text: str) -> Iterator[list[_Token]]:
    """Tokens that stand together with nothing but spaces between them."""
    run: list[_Token] = []
    for match in _TOKEN.finditer(text):
        token = _token(match)
        if run and (token is None or text[run[-1].end : match.start()].strip()):
            yield run[:_MAX_TOKENS]
            run = []
        if token:
            run.append(token)
    if run:
        yield run[:_MAX_TOKENS]


def _token(match: re.Match[str]) -> _Token | None:
    kind, text = match.lastgroup or "", match[0]
    if kind == "name":
        name = text.lower()
        if name not in concepts.FUNCTIONS and name not in _CONSTANTS:
            return None
        kind = "function" if name in concepts.FUNCTIONS else "number"
        text = name
    elif kind == "number":
        text = text.replace(",", "")
    elif kind == "sign":
        text = text.translate(_PLAIN)
        if text in ("²", "³"):
            kind, text = "after", "**2" if text == "²" else "**3"
    elif kind == "word":
        kind, text = "sign", _look_up(_SIGN_WORDS, text)
    elif text == "的":
        rest = match.string[match.end() : match.end() + 30]
        text = "portion" if re.match(r"[\d.]+\s*%", rest) else "**"
    else:
        text = _look_up(_AFTER_WORDS if kind == "after" else _BEFORE_WORDS, text)
    return _Token(kind, text, match.start(), match.end())


def _look_up(table: tuple[tuple[str, str], ...], text: str) -> str:
    for pattern, meaning in table:
        if re.fullmatch(pattern, text, re.IGNORECASE):
            return meaning
    return text


def _longest(run: list[_Token]) -> tuple[Expression | None, list[_Token]]:
    """The first readable stretch of a run, as long as possible, and what follows it."""
    for start in range(len(run)):
        if run[start].text in (")", ",", "*", "/", "**", "%", "!", "^"):
            continue
        for end in range(len(run), start, -1):
            tokens = run[start:end]
            operators = _operators(tokens)
            if not operators:
                break
            spelt = _spell(tokens)
            if _reads(spelt):
                return Expression(spelt, tokens[0].start, tokens[-1].end, operators), run[end:]
    return None, []


def _operators(tokens: list[_Token]) -> int:
    """How many operations there are; a sign before the first number is none, nor is "50%"."""
    if len(tokens) == 2 and tokens[1].text == "%":
        return 0
    counted = [t for t in tokens if t.kind in ("after", "before", "function")]
    signs = [t for t in tokens[1:] if t.kind == "sign" and t.text not in ("(", ")", ",")]
    return len([t for t in counted if t.text]) + len(signs)


def _spell(tokens: list[_Token]) -> str:
    """The tokens as a calculator reads them."""
    out: list[str] = []
    for index, token in enumerate(tokens):
        if token.kind == "before":
            following = tokens[index + 1].text if index + 1 < len(tokens) else ""
            power = {"square": "**2", "cube": "**3"}.get(token.text)
            out.append(f"({following})" + power if power else f"{token.text}({following})")
        elif index and tokens[index - 1].kind == "before":
            continue
        elif token.kind == "after" and token.text in concepts.FUNCTIONS and out:
            out[-1] = f"{token.text}({out[-1]})"
        elif token.text == "portion":
            out.append("*")
        else:
            tight = token.kind in ("number", "function", "after") or token.text in _TIGHT
            tight = tight or (token.text in ("-", "+") and _opens(tokens[:index]))
            out.append(token.text if tight else f" {token.text} ")
    spelt = "".join(out).replace("% of", "% of ").replace(",", ", ")
    return re.sub(r"  +", " ", spelt).strip()


def _opens(before: list[_Token]) -> bool:
    """Whether a number begins after these, so that a sign is the number's own."""
    return not before or (before[-1].kind == "sign" and before[-1].text not in (")", "%"))


def _reads(spelt: str) -> bool:
    """Whether it is one expression; judged by Python's grammar, evaluated by nobody."""
    plain = re.sub(r"%(?=\s*(?:$|[-+*/),]))", "/100", spelt.replace("% of", "/100*"))
    plain = re.sub(r"(?<=[\d)])!", "", plain)
    plain = plain.replace("π", "pi")
    if (
        len(plain) > 500
        or re.search(r"(?<![\d.])0\d", plain)
        or re.search(r"\d[A-Za-z]", re.sub(r"\d[eE][+-]?\d", "", plain))
    ):
        return False
    try:
        tree = ast.parse(plain, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return not isinstance(tree, ast.Tuple | ast.Name) and not _calls_a_number(tree)


def _calls_a_number(tree: ast.AST) -> bool:
    """Whether something but a function is called, as in ``2 (3)``."""
    return any(
        isinstance(node, ast.Call) and not isinstance(node.func, ast.Name)
        for node in ast.walk(tree)
    )
