"""What the package offers by name: little enough to know, and each name explained."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Iterator, Sequence

import toolkeel
from tests.gates.doors import opened
from tests.gates.sources import PACKAGE, Module, modules, planted, report

MOST = 40
Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def test_the_package_offers_at_most_forty_names() -> None:
    assert len(toolkeel.__all__) <= MOST, f"{len(toolkeel.__all__)} names ({MOST})"


def test_the_list_of_names_is_what_the_package_binds() -> None:
    names = list(toolkeel.__all__)
    assert len(names) == len(set(names)), "a name stands twice in __all__"
    bound = {
        name
        for name, value in vars(toolkeel).items()
        if not name.startswith("_")
        and not isinstance(value, types.ModuleType)
        and getattr(value, "__module__", "") != "__future__"
    }
    [package] = [module for module in modules() if module.name == PACKAGE]
    later = {name for _, name in opened(package)}
    assert set(names) == bound | later
    for name in later:
        assert getattr(toolkeel, name).__name__ == name


def test_every_name_of_the_package_and_every_method_of_its_classes_is_explained() -> None:
    rows = []
    for name in toolkeel.__all__:
        value = getattr(toolkeel, name)
        if (inspect.isclass(value) or inspect.isroutine(value)) and not _own_doc(value):
            rows.append(f"{name}: no docstring")
        if inspect.isclass(value):
            rows += [f"{name}.{method}: no docstring" for method in _unexplained(value)]
    report(rows)


def _unexplained(cls: type) -> list[str]:
    """Public methods with no docstring, neither of their own nor from a base class."""
    own = [name for name, value in vars(cls).items() if inspect.isroutine(value)]
    public = [name for name in own if not name.startswith("_")]
    return [n for n in public if not any(_doc_of(base, n) for base in cls.__mro__)]


def _doc_of(cls: type, name: str) -> str:
    return (name in vars(cls) and vars(cls)[name].__doc__) or ""


def _own_doc(value: object) -> str:
    """A docstring of its own: neither inherited nor made up by `dataclasses`."""
    text = vars(value).get("__doc__") if inspect.isclass(value) else inspect.getdoc(value)
    return "" if text is None or text.startswith(f"{getattr(value, '__name__', '')}(") else text


def test_every_public_function_class_and_module_says_what_it_is() -> None:
    report(undocumented(modules()))


def test_every_docstring_can_be_encoded() -> None:
    """Python 3.13 and later refuse to compile one with half a surrogate pair."""
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Module | Documented):
                (ast.get_docstring(node) or "").encode()


def undocumented(sources: Sequence[Module]) -> list[str]:
    """Public modules, functions and classes without a docstring.

    A class that only sets constants, such as an error with its kind, says all there is.
    """
    return [row for module in sources for row in _of_module(module)]


def _of_module(module: Module) -> Iterator[str]:
    if module.tree.body and not ast.get_docstring(module.tree):
        yield f"{module.path}: the module has no docstring"
    for node in module.tree.body:
        if isinstance(node, Documented) and not (_says_all(node) or ast.get_docstring(node)):
            yield f"{module.path}:{node.lineno} {node.name}: no docstring"


def _says_all(node: Documented) -> bool:
    """Whether no docstring is asked for."""
    if isinstance(node, ast.ClassDef):
        only_constants = all(isinstance(part, ast.Assign) for part in node.body)
        return node.name.startswith("_") or only_constants
    is_overload = any(ast.unparse(d).endswith("overload") for d in node.decorator_list)
    return node.name.startswith("_") or is_overload


def test_a_planted_name_without_a_docstring_is_found() -> None:
    text = (
        "'''A module.'''\n"
        "def bare(): pass\n"
        "def _private(): pass\n"
        "class Kind(Exception):\n    kind = 'x'\n"
        "class Bare:\n    x: int\n"
        "@overload\ndef told(x: int): ...\n"
        "def told():\n    '''Say.'''\n    def inner(): pass\n"
    )
    path = "packages/toolkeel/src/toolkeel/plain.py"
    assert undocumented([planted(f"{PACKAGE}.plain", text)]) == [
        f"{path}:2 bare: no docstring",
        f"{path}:6 Bare: no docstring",
    ]


def test_a_method_without_a_docstring_is_found_unless_its_base_explains_it() -> None:
    class Base:
        def told(self) -> None:
            """Say."""

    class Child(Base):
        def told(self) -> None: ...
        def bare(self) -> None: ...
        def _private(self) -> None: ...

    assert _unexplained(Child) == ["bare"]
