"""Files and functions stay within what a reader can hold."""

from __future__ import annotations

import ast

import pytest

from tests.gates.sizes import (
    ARGUMENTS,
    FRONT_DOORS,
    arguments,
    complexity,
    length,
    nesting,
    violations,
)
from tests.gates.sources import Function, functions, modules, planted, report


def test_files_and_functions_are_within_every_limit() -> None:
    report(violations(modules()))


def test_every_front_door_excepted_by_name_is_public_and_needs_it() -> None:
    places = {
        f"{module.name}:{name}": function
        for module in modules()
        for name, function in functions(module)
    }
    for place, reason in FRONT_DOORS.items():
        assert place in places, f"{place} is gone: strike it from FRONT_DOORS"
        private = [p for p in place.split(":")[1].split(".") if p.startswith("_")]
        assert private in ([], ["__init__"], ["__call__"]), f"{place} is no front door"
        assert arguments(places[place]) > ARGUMENTS, f"{place} needs no exception"
        assert reason, f"{place}: say why"


def _function(text: str) -> Function:
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return node


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("def f(): pass", 1),
        ("def f(a):\n if a: pass\n elif a > 1: pass\n else: pass", 3),
        ("def f(a):\n return [x for x in a if x for y in x]", 3),
        ("def f(a):\n return a and a.b and a.c or None", 1),
        ("def f(a):\n try: pass\n except ValueError: pass\n except KeyError: pass", 3),
        ("def f(a):\n match a:\n  case 1: pass\n  case 2: pass\n  case _: pass", 3),
        ("def f(a):\n def g():\n  while a: pass\n return 1", 2),
    ],
)
def test_complexity_counts_every_decision_once(text: str, number: int) -> None:
    assert complexity(_function(text)) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("def f(): pass", 0),
        ("def f(a):\n if a: pass\n elif a: pass\n elif a: pass", 1),
        ("def f(a):\n if a: pass\n else:\n  if a: pass", 2),
        ("def f(a):\n for x in a:\n  with x:\n   try:\n    if x: pass\n   finally: pass", 4),
        ("def f(a):\n if a:\n  def g():\n   if a: pass", 1),
    ],
)
def test_nesting_counts_the_blocks_that_stand_inside_each_other(text: str, number: int) -> None:
    assert nesting(_function(text)) == number


def test_arguments_count_without_self_and_with_keyword_only_ones() -> None:
    assert arguments(_function("def f(self, a, /, b, *c, d=1, **e): pass")) == 3


def test_length_is_counted_from_def_to_the_last_line() -> None:
    assert length(_function("@d\ndef f():\n    '''Text.'''\n\n    return 1\n")) == 4


def test_each_planted_excess_is_reported_with_its_number_and_limit() -> None:
    long = "def long():\n" + "    x = 1\n" * 50
    wide = "def wide(a, b, c, d, e, f, g): pass\n"
    bushy = "def bushy(a):\n" + "    if a: pass\n" * 10
    deep = "def deep(a):\n" + "".join(f"{' ' * i}if a:\n" for i in range(1, 6)) + " " * 6 + "pass\n"
    text = long + wide + bushy + deep + "\n" * 400
    path = "packages/toolkeel/src/toolkeel/big.py"
    assert violations([planted("toolkeel.big", text)]) == [
        f"{path}: {text.count(chr(10)) + 1} lines (400)",
        f"{path}:1 long: 51 lines (50)",
        f"{path}:52 wide: 7 arguments (6)",
        f"{path}:53 bushy: 11 complexity (10)",
        f"{path}:64 deep: 5 levels of nesting (4)",
    ]
