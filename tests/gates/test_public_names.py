"""What the package offers by name: little enough to know, and each name explained."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Iterator, Sequence

import toolwright
from tests.gates.sources import PACKAGE, Function, Module, modules, planted, report

MOST = 40
Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def test_the_package_offers_at_most_forty_names() -> None:
    assert len(toolwright.__all__) <= MOST, f"{len(toolwright.__all__)} names ({MOST})"


def test_the_list_of_names_is_what_the_package_binds() -> None:
    names = list(toolwright.__all__)
    assert len(names) == len(set(names)), "a name stands twice in __all__"
    bound = {
        name
        for name, value in vars(toolwright).items()
        if not name.startswith("_")
        and not isinstance(value, types.ModuleType)
        and getattr(value, "__module__", "") != "__future__"
    }
    assert {name for name in names if not name.startswith("_")} == bound


def test_every_name_of_the_package_has_a_docstring() -> None:
    report(
        [
            f"{name}: no docstring"
            for name in toolwright.__all__
            for value in [getattr(toolwright, name)]
            if (inspect.isclass(value) or inspect.isroutine(value)) and not _own_doc(value)
        ]
    )


def _own_doc(value: object) -> str:
    """A docstring of its own: neither inherited nor made up by `dataclasses`."""
    text = vars(value).get("__doc__") if inspect.isclass(value) else inspect.getdoc(value)
    return "" if text is None or text.startswith(f"{getattr(value, '__name__', '')}(") else text


def test_every_public_function_class_and_module_says_what_it_is() -> None:
    report(undocumented(modules()))


def undocumented(sources: Sequence[Module]) -> list[str]:
    """Public modules, functions, methods and classes without a docstring.

    A class that only sets constants, such as an error with its kind, says all there is.
    """
    return [row for module in sources for row in _of_module(module)]


def _of_module(module: Module) -> Iterator[str]:
    if module.tree.body and not ast.get_docstring(module.tree):
        yield f"{module.path}: the module has no docstring"
    for name, node in _public(module.tree, ""):
        if not ast.get_docstring(node):
            yield f"{module.path}:{node.lineno} {name}: no docstring"


def _public(scope: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, Documented]]:
    """What can be reached from outside by names without an underscore in front."""
    for node in scope.body:
        if not isinstance(node, Documented) or node.name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef):
            if not all(isinstance(part, ast.Assign) for part in node.body):
                yield prefix + node.name, node
            yield from _public(node, f"{prefix}{node.name}.")
        elif not _spoken_for(node):
            yield prefix + node.name, node


def _spoken_for(node: Function) -> bool:
    """Whether the docstring stands elsewhere.

    At another definition of the same name, or, for a property, at its class like any field's.
    """
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    return any(text.endswith(("overload", "property", ".setter")) for text in decorators)


def test_a_planted_name_without_a_docstring_is_found() -> None:
    text = (
        "'''A module.'''\n"
        "def bare(): pass\n"
        "def _private(): pass\n"
        "class Kind(Exception):\n    kind = 'x'\n"
        "class Bare:\n    x: int\n    def method(self): pass\n    def __len__(self): pass\n"
        "def told():\n    '''Say.'''\n    def inner(): pass\n"
    )
    path = "src/toolwright/plain.py"
    assert undocumented([planted(f"{PACKAGE}.plain", text)]) == [
        f"{path}:2 bare: no docstring",
        f"{path}:6 Bare: no docstring",
        f"{path}:8 Bare.method: no docstring",
    ]
