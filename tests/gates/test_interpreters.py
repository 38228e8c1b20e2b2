"""The library uses nothing of the standard library that a Python up to 3.15 refuses or warns about."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.gates.sources import Module, modules, planted, report

GONE = {
    "asyncio": "get_event_loop get_event_loop_policy set_event_loop_policy iscoroutinefunction "
    "get_child_watcher set_child_watcher AbstractChildWatcher DefaultEventLoopPolicy",
    "ast": "Num Str Bytes NameConstant Ellipsis",
    "codecs": "open",
    "datetime": "utcnow utcfromtimestamp",
    "importlib": "find_loader",
    "importlib.abc": "Traversable TraversableResources ResourceReader Finder",
    "importlib.resources": "contents",
    "locale": "getdefaultlocale resetlocale",
    "logging": "warn",
    "pkgutil": "find_loader get_loader ImpImporter ImpLoader",
    "pty": "master_open slave_open",
    "sqlite3": "version version_info",
    "typing": "io re ByteString no_type_check_decorator",
    "unittest": "makeSuite findTestCases",
}
"""Names by module: removed in 3.12 to 3.15, or deprecated there."""

REMOVED = {
    *("aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "distutils"),
    *("imghdr", "imp", "lib2to3", "mailcap", "msilib", "nis", "nntplib", "ossaudiodev", "pipes"),
    *("smtpd", "sndhdr", "spwd", "sre_compile", "sre_constants", "sre_parse", "sunau"),
    *("telnetlib", "uu", "xdrlib"),
}
"""Modules that 3.12 to 3.15 no longer have."""


def _refused(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        for what in (
            _imports(node) if isinstance(node, ast.Import | ast.ImportFrom) else _uses(node)
        ):
            yield f"{module.path}:{getattr(node, 'lineno', 0)}: {what}"


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (f"no module {each.name}" for each in node.names if each.name in REMOVED)
        return
    if node.module in REMOVED:
        yield f"no module {node.module}"
    gone = GONE.get(node.module or "", "").split()
    yield from (f"no {node.module}.{each.name}" for each in node.names if each.name in gone)


def _uses(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute):
        owner = ast.unparse(node.value)
        if node.attr in GONE.get(owner, "").split():
            yield f"no {owner}.{node.attr}"
    if not isinstance(node, ast.Call):
        return
    called = ast.unparse(node.func)
    if called == "sqlite3.connect" and len(node.args) > 1:
        yield "sqlite3.connect takes all but the database by keyword"
    elif called == "property" and any(isinstance(each, ast.Call) for each in node.args):
        yield "a class with slots needs properties made of functions"
    elif called.endswith(".extractall") and not any(k.arg == "filter" for k in node.keywords):
        yield "extractall needs a filter"
    elif called.endswith("rmtree") and any(k.arg == "onerror" for k in node.keywords):
        yield "rmtree takes onexc, not onerror"


def test_nothing_is_used_that_a_later_python_refuses() -> None:
    report([what for module in modules() for what in _refused(module)])


@pytest.mark.parametrize(
    "line",
    [
        "import telnetlib",
        "from asyncio import get_event_loop",
        "asyncio.get_event_loop()",
        "sqlite3.connect('a.db', 5)",
        "name = property(attrgetter('tool.name'))",
        "archive.extractall('out')",
        "shutil.rmtree('out', onerror=print)",
    ],
)
def test_the_gate_finds_what_a_later_python_refuses(line: str) -> None:
    assert len(list(_refused(planted("toolkeel.planted", line)))) == 1


@pytest.mark.parametrize(
    "line",
    ["sqlite3.connect('a.db', timeout=5)", "name = property(lambda self: self.tool.name)"],
)
def test_the_gate_lets_through_what_they_take(line: str) -> None:
    assert not list(_refused(planted("toolkeel.planted", line)))
