"""A calculator for expressions as people and models write them.

Three layers protect the machine: a tokenizer that knows only numbers, arithmetic and listed names;
simpleeval without attributes, indexes, strings and assignments; and operators that refuse a result that
would be too long before computing it.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Any

from toolkeel._common.nearest_names import nearest_names
from toolkeel._common.needs_extra import needs_extra
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool
from toolkeel.effects import Effects
from toolkeel.errors import ToolError

with needs_extra("toolkeel.builtin.calculator", "builtin"):
    import simpleeval  # type: ignore[import-untyped]

MAX_LENGTH = 1000
"""Longest expression, in characters."""
MAX_DIGITS = 1000
"""Longest whole number, in decimal digits."""
MAX_DEPTH = 60
"""Deepest nesting of parentheses, signs and calls."""

_MAX_BITS = int(MAX_DIGITS / math.log10(2))

Number = int | float


def _check_number(value: object) -> Number:
    """Return a real number of limited length.

    Raises:
        ToolError: if it is anything else, or too long.
    """
    if isinstance(value, complex):
        raise ToolError("The result is not a real number.")
    if not isinstance(value, int | float):
        raise ToolError("The expression is not a number. Write one arithmetic expression.")
    if isinstance(value, int):
        if value.bit_length() > _MAX_BITS:
            raise _make_too_long_error()
    elif math.isnan(value) or math.isinf(value):
        raise ToolError("The result is too large for a floating-point number.")
    return value


def _make_too_long_error() -> ToolError:
    """Build the error for a result with more than `MAX_DIGITS` digits."""
    return ToolError(
        f"A whole number here would have more than {MAX_DIGITS} digits. "
        "Use smaller numbers, or a decimal such as 2.0 for an approximate result."
    )


def _power(base: Number, exponent: Number) -> Number:
    """Return a power, or raise `ToolError` before computing an integer of more than `_MAX_BITS` bits."""
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
        # |base| < 2 ** bit_length, so this bounds the result without computing it.
        longest = (base.bit_length() - 1) * exponent if abs(base) > 1 else 0
        if longest > _MAX_BITS:
            raise _make_too_long_error()
    return _check_number(base**exponent)


def _reject_caret(left: Number, right: Number) -> Number:
    """Raise `ToolError`: ``^`` is not a power; with the expression to write."""
    raise ToolError(
        f"^ is not a power here (in Python it is bitwise xor). "
        f"Use ** for powers: {_format_number(left):.40}**{_format_number(right):.40}. For xor, use xor(a, b)."
    )


def _factorial(number: Number) -> int:
    """Return the factorial of a whole number; raise `ToolError` for another one, or above 1,000 digits."""
    whole = _require_integer(number, "factorial")
    if whole > 449:  # 450! has 1001 digits
        raise _make_too_long_error()
    return math.factorial(whole)


def _combinations(total: Number, chosen: Number) -> Number:
    """Return the number of combinations, or raise `ToolError` unless both are integers up to 10,000."""
    return _check_number(
        math.comb(_require_integer(total, "comb", 10_000), _require_integer(chosen, "comb", 10_000))
    )


def _permutations(total: Number, chosen: Number) -> Number:
    """Return the number of permutations, or raise `ToolError` before computing one of far more than `_MAX_BITS` bits.

    Raises `ToolError`, too, for anything but whole numbers from 0 to 10,000.
    """
    n, k = _require_integer(total, "perm", 10_000), _require_integer(chosen, "perm", 10_000)
    if k > 1 and k <= n and k * math.log2(n) > 4 * _MAX_BITS:
        raise _make_too_long_error()
    return _check_number(math.perm(n, k))


def _require_integer(number: Number, function_name: str, limit: int | None = None) -> int:
    """Return a number as a non-negative integer, at most `limit` if that is set.

    Raises:
        ToolError: if it is not one.
    """
    if number < 0 or (isinstance(number, float) and not number.is_integer()):
        raise ToolError(f"{function_name} needs whole numbers that are not negative.")
    if limit is not None and number > limit:
        raise ToolError(f"{function_name} takes numbers up to {limit}.")
    return int(number)


def _round(number: Number, digits: int = 0) -> Number:
    """Round a number, to an integer without digits, or raise `ToolError` for over 400 digits."""
    if abs(digits) > 400:
        raise ToolError("round takes at most 400 digits.")
    return round(number, digits) if digits else round(number)


_MATH_FUNCTIONS = (
    "acos asin atan atan2 cbrt ceil cos cosh degrees exp floor gcd hypot lcm log log10 log2"
    " radians sin sinh sqrt tan tanh"
)
_OWN_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "comb": _combinations,
    "factorial": _factorial,
    "ln": math.log,
    "max": lambda *numbers: max(numbers),
    "mean": lambda *numbers: sum(numbers) / len(numbers),
    "min": lambda *numbers: min(numbers),
    "perm": _permutations,
    "pow": _power,
    "round": _round,
    "sum": lambda *numbers: sum(numbers),
    "trunc": int,
    "xor": operator.xor,
}
FUNCTIONS: dict[str, Callable[..., Number]] = dict(
    sorted(
        {
            **{name: getattr(math, name) for name in _MATH_FUNCTIONS.split()},
            **_OWN_FUNCTIONS,
        }.items()
    )
)
"""Every function an expression may use."""

CONSTANTS: dict[str, float] = {"pi": math.pi, "π": math.pi, "e": math.e, "tau": math.tau}
"""Every name an expression may use."""

_OPERATORS: dict[type[ast.AST], Callable[..., object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Div: operator.truediv,
    ast.Mult: lambda left, right: _check_number(left * right),
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: _power, ast.BitXor: _reject_caret,
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_NODES = (ast.Name, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Call, ast.Constant)

_SIGNS = str.maketrans(
    {
        **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},  # full width
        **dict.fromkeys("×·⋅✕", "*"),
        **dict.fromkeys("÷∕", "/"),
        **dict.fromkeys("−–—", "-"),
        "²": "**2",
        "³": "**3",
        "√": " sqrt",
        "≤": "<=",
        "≥": ">=",
        "≠": "!=",
        "、": ",",
        **dict.fromkeys("\u00a0\u2009\u202f\u3000", " "),
    }
)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-zπ_][A-Za-z0-9_]*)"
    r"|(?P<sign>\*\*|//|[<>=!]=|[-+*/%^()<>,!]))"
)
_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?![\d,])")
_BINARY = frozenset(("**", "//", "*", "/", "+", "-", ")", ",", "<", ">", "<=", ">=", "==", "!="))


def _make_evaluator() -> simpleeval.SimpleEval:
    """Return an evaluator that knows only arithmetic and the listed functions and names."""
    evaluator = simpleeval.SimpleEval(
        operators=_OPERATORS, functions=FUNCTIONS, names=CONSTANTS, allowed_attrs={}
    )
    known = dict(evaluator.nodes or {})
    evaluator.nodes = {node: known[node] for node in _NODES}
    return evaluator


_EVALUATOR = _make_evaluator()


@tool(effects=Effects(read_only=True, open_world=False))
def calculator(expression: str) -> str:
    """Calculate an arithmetic or math expression exactly.

    Knows + - * / // % ** and parentheses, percentages ("15% of 80"), factorials ("5!"),
    comparisons, pi, e, and functions such as sqrt, log, sin, round, min, max, sum, mean.

    Args:
        expression: The expression to calculate, such as "2 + 2 * (3 - 1)" or "15% of 80".
    """
    source = _rewrite(_tokenize(expression))
    try:
        # As an expression: of a file's source, a syntax error would make Python open that file.
        tree = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ToolError(_describe_syntax_error(expression)) from None
    if _measure_depth(tree) > MAX_DEPTH:
        raise ToolError(f"Nested deeper than {MAX_DEPTH} levels.")
    return _format_number(_evaluate(source, tree))


def tools() -> tuple[AnyTool, ...]:
    """Return the tools of this file."""
    return (calculator,)


def _evaluate(source: str, tree: ast.expr) -> Number:
    """Return an expression's value, or raise `ToolError`, for the model, if it has none."""
    try:
        return _check_number(_EVALUATOR.eval(source, tree))
    except ZeroDivisionError:
        raise ToolError("Division by zero.") from None
    except OverflowError:
        raise ToolError("A number here is too large to calculate with.") from None
    except ValueError:
        raise ToolError("A function was given a number outside its domain.") from None
    except (TypeError, simpleeval.InvalidExpression):
        raise ToolError(_describe_syntax_error(source)) from None


def _tokenize(expression: str) -> list[str]:
    """Split the text into numbers, names and operators.

    Raises:
        ToolError: if it contains anything else, or an unknown name.
    """
    if len(expression) > MAX_LENGTH:
        raise ToolError(f"The expression is longer than {MAX_LENGTH} characters. Split it.")
    text = expression.translate(_SIGNS).strip().rstrip("=? ")
    if not re.search(r"[A-Za-z]\s*\(", text):  # in max(1,000) the comma separates arguments
        text = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)
    tokens: list[str] = []
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ToolError(
                f"Unexpected {text[position:].lstrip()[0]!r} in the expression. Only numbers, "
                "+ - * / // % ** ( ), comparisons and functions such as sqrt are known."
            )
        if found["name"]:
            _check_name(found["name"])
        tokens.append(found[found.lastgroup or 0])
        position = found.end()
    if not tokens:
        raise ToolError('The expression is empty. Give one, such as "2 + 2".')
    return tokens


def _check_name(name: str) -> None:
    """Raise `ToolError` for an unknown name, with the nearest known one."""
    known = [*FUNCTIONS, *CONSTANTS, "of", "x"]
    if name in known:
        return
    near = nearest_names(name, known, 1)
    hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(FUNCTIONS)}, pi, e, tau."
    raise ToolError(f"Unknown name {name[:40]!r}. {hint}")


def _rewrite(tokens: list[str]) -> str:
    """Return an expression with percentages, factorials and the letter x as plain arithmetic.

    Raises `ToolError` for an "of" without a percentage.
    """
    out: list[str] = []
    for index, token in enumerate(tokens):
        after = tokens[index + 1] if index + 1 < len(tokens) else ""
        if token == "%" and after == "of":
            out.append("/100*")
        elif token == "%" and (not after or after in _BINARY):
            start = _find_operand_start(out)
            out[start:] = ["(", *out[start:], "/100", ")"]
        elif token == "!":
            start = _find_operand_start(out)
            out[start:] = ["factorial(", *out[start:], ")"]
        elif token == "of":
            if index == 0 or tokens[index - 1] != "%":
                raise ToolError('"of" only follows a percentage, as in "15% of 80".')
        else:
            out.append("*" if token == "x" else _strip_leading_zeros(token))
    return " ".join(out)


def _strip_leading_zeros(token: str) -> str:
    """Strip the leading zeros of a whole number, which Python refuses; any other token is unchanged."""
    return token.lstrip("0") or "0" if token.isdigit() else token


def _find_operand_start(out: list[str]) -> int:
    """Return where the operand that ends here starts: a number, a name, or a bracket with its function."""
    index, depth = len(out) - 1, 0
    while index > 0:
        depth += out[index].count(")") - out[index].count("(")
        if depth <= 0:
            break
        index -= 1
    if index > 0 and out[index] == "(" and out[index - 1] in FUNCTIONS:
        index -= 1
    return max(index, 0)


def _measure_depth(tree: ast.AST) -> int:
    """Return the number of levels of the tree, counted to one above `MAX_DEPTH`, without recursion."""
    depth, level = 0, [tree]
    while level and depth <= MAX_DEPTH:
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        depth += 1
    return depth


def _describe_syntax_error(expression: str) -> str:
    """Return the error text for an expression that cannot be parsed."""
    short = expression if len(expression) <= 60 else f"{expression[:57]}..."
    return (
        f"Cannot read {short!r} as an expression. Check that every bracket is closed and that "
        "there is an operator between numbers, such as 2 * (3 + 4)."
    )


def _format_number(value: Number) -> str:
    """Format whole numbers exactly, truth values in lower case, others to 15 digits, which hides binary noise."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return format(value, ".15g")
