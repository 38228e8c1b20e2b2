"""What the originals offer is honoured, or refused by name: their public names, and every keyword."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from tests.gates.sources import modules
from tests.shared import peer
from toolkeel._lazy_exports import ReplacedName
from toolkeel_compat import langchain, openai_agents

OURS = {
    "agents": openai_agents,
    "langchain_core.tools": langchain,
    "langchain_core.messages": langchain,
    "langchain.agents": langchain,
    "langchain.agents.middleware": langchain,
    "langchain.tools": langchain,
    "langchain.chat_models": langchain,
    "langgraph.prebuilt": langchain,
    "langgraph.types": langchain,
}
MODEL = "ollama:qwen3"
"""A name that stands where one of a model is needed; nobody is asked."""
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
INSIDES = ("realtime", "voice", "sandbox", "run_internal", "util", "version", "logger", "testing")


def of_agents() -> list[str]:
    """Modules of the Agents SDK that are for programs, realtime, voice and sandbox apart."""
    root = peer("agents")
    names = [one.name for one in pkgutil.walk_packages(root.__path__, "agents.")]
    return [n for n in names if not {*n.split(".")} & {*INSIDES} and "._" not in n]


def loaded(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:  # an extra of theirs
        return None


def public(module: ModuleType) -> Iterator[str]:
    for name in getattr(module, "__all__", ()):
        if not name.startswith("__"):
            yield name


def answered(ours: ModuleType, name: str) -> bool:
    """Whether a name is here, or is told what stands for it."""
    try:
        getattr(ours, name)
    except ReplacedName as error:
        return name in str(error)
    except AttributeError:
        return False
    return True


@pytest.mark.slow
def test_every_public_name_of_the_agents_sdk_is_here_or_says_what_to_write() -> None:
    names = {(m, n) for m in of_agents() if (found := loaded(m)) for n in public(found)}
    assert len(names) > 200
    assert sorted(pair for pair in names if not answered(openai_agents, pair[1])) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in OURS if name.startswith("lang")])
def test_every_public_name_of_langchain_is_here_or_says_what_to_write(name: str) -> None:
    module = peer(name)
    assert [one for one in public(module) if not answered(langchain, one)] == []


def keywords(made: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(made).parameters)
    except (TypeError, ValueError):
        return {}


def swallowed(theirs: Any, ours: Any) -> Iterator[str]:
    """Keywords of theirs that ours takes without knowing them."""
    known = keywords(ours)
    if not any(one.kind is one.VAR_KEYWORD for one in known.values()):
        return  # Python itself refuses what is not named
    filled = {
        name: MODEL if name == "model" else None
        for name, one in known.items()
        if one.default is one.empty and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    }
    options = known_options(ours)
    for name, one in keywords(theirs).items():
        if name in known or name in options or one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL):
            continue
        try:
            ours(**filled, **{name: object()})
        except Exception as error:
            if name in str(error):
                continue
        yield name


def known_options(ours: Any) -> set[str]:
    """Names that its module knows: fields of its classes, keys of its options, quoted words."""
    above = [one.__module__ for one in getattr(ours, "__mro__", (ours,))]
    modules = {ours.__module__, *(one for one in above if one.startswith("toolkeel_compat"))}
    trees = [ast.parse(inspect.getsource(importlib.import_module(one))) for one in modules]
    found = set()
    for one in (part for tree in trees for part in ast.walk(tree)):
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            found.add(one.target.id)
        elif isinstance(one, ast.Constant) and isinstance(one.value, str):
            found.add(one.value)
        elif isinstance(one, ast.arg):
            found.add(one.arg)
        elif isinstance(one, ast.alias):  # options that it has from another module
            imported = getattr(sys.modules[ours.__module__], one.asname or one.name, None)
            found |= set(getattr(imported, "__annotations__", ()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_no_keyword_of_the_originals_is_taken_and_forgotten(name: str) -> None:
    module, found = peer(name), {}
    for one in public(module):
        try:
            ours = getattr(OURS[name], one)
        except AttributeError:
            continue
        theirs = getattr(module, one)
        # A Handoff is made by handoff() in programs; ours is the core's own class.
        if callable(theirs) and callable(ours) and one != "Handoff":
            found[one] = sorted(swallowed(theirs, ours))
    assert {one: lost for one, lost in found.items() if lost} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_a_keyword_that_nobody_knows_is_refused_by_name(name: str) -> None:
    peer(name)
    for one in dir(OURS[name]):
        ours = getattr(OURS[name], one)
        named = one in getattr(sys.modules[name], "__all__", ())
        made = callable(ours) and not inspect.isabstract(ours)
        if named and made and ours.__module__.startswith("toolkeel_compat"):
            assert list(refused(ours, "nobody_knows_this")) == [], one


def probe(text: str = "") -> str:
    """Stands where a function, or something with a name, is needed."""
    return text


probe.name = "probe"  # type: ignore[attr-defined]


def refused(ours: Any, strange: str) -> Iterator[str]:
    """Nothing, if a keyword that nobody knows is refused by its name."""
    known = keywords(ours)
    of_users = getattr(ours, "_is_protocol", False) or "Computer" in getattr(ours, "__name__", "")
    if of_users or not any(one.kind is one.VAR_KEYWORD for one in known.values()):
        return
    needed = [one for one in known.values() if one.default is one.empty]
    texts = {"name": "x", "description": "x", "model": MODEL}
    given = [texts.get(one.name, probe) for one in needed if one.kind in POSITIONAL]
    more = {one.name: 1 for one in needed if one.kind is one.KEYWORD_ONLY}
    try:
        made = ours(*given, **more, **{strange: object()})
        if inspect.isfunction(made):  # a decorator, which sees the tool when it has the function
            made(probe)
    except Exception as error:
        if strange in str(error):
            return
        yield f"{type(error).__name__}: {error}"
    else:
        yield strange


def unread(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Options that a body never looks at."""
    if all(isinstance(one, ast.Expr) for one in function.body) and function.name != "__init__":
        return  # others write it
    read = {one.id for node in function.body for one in ast.walk(node) if isinstance(one, ast.Name)}
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    optional = positional[len(positional) - len(given.defaults) :] if given.defaults else []
    for one in (*optional, *given.kwonlyargs):
        if one.arg not in read and not one.arg.startswith("_"):
            yield one.arg


EXPLAINED = ("othing", "nobody", "gnored", "Refused", "no difference", "no effect", "in a subclass")
"""One of these in a docstring says why an option changes nothing."""


def explained(text: str, name: str) -> bool:
    """Whether a docstring says of a parameter, or of all, that it changes nothing, and why."""
    of_it = [line for line in text.splitlines() if line.strip().startswith(f"{name}:")]
    lines = of_it or text.splitlines()[:1]
    return any(word in line for line in lines for word in EXPLAINED)


def test_an_option_that_changes_nothing_is_said_to() -> None:
    found = []
    for module in modules():
        if not module.name.startswith("toolkeel_compat") or "bridges" in module.name:
            continue
        classes = [one for one in ast.walk(module.tree) if isinstance(one, ast.ClassDef)]
        for owner in [module.tree, *classes]:
            held = [o for o in owner.body if isinstance(o, ast.FunctionDef | ast.AsyncFunctionDef)]
            told = [ast.get_docstring(one) or "" for one in (owner, *held)]
            for one in held:
                texts = [ast.get_docstring(one) or "", *told]
                found += [
                    f"{module.name}:{one.name}({name})"
                    for name in unread(one)
                    if not any(explained(text, name) for text in texts)
                ]
    assert not found, found
