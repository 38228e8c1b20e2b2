"""The code blocks of the seeds: found, mapped to this package's names, and run."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tests.gates.documents import blocks
from tests.shared import shared_file

NUMBERS = ("000", "001", "002", "003", "004")

# Import lines of the seeds, and what they become. Nothing else of an example is changed.
MODULES = {
    "langchain_core.tools": "toolkeel_compat.langchain",
    "langchain_core.tools.base": "toolkeel_compat.langchain",
    "langchain_core.messages": "toolkeel_compat.langchain",
    "langchain_core.utils.function_calling": "toolkeel_compat.langchain",
    "langgraph.prebuilt": "toolkeel_compat.langchain",
    "agents": "toolkeel_compat.openai_agents",
    "agents.tool": "toolkeel_compat.openai_agents",
    "agents.tool_guardrails": "toolkeel_compat.openai_agents",
    "agents.computer": "toolkeel_compat.openai_agents",
    "openai.types.responses.file_search_tool_param": "toolkeel_compat.openai_agents",
}
_IMPORT = re.compile(rf"(?m)^from ({'|'.join(map(re.escape, MODULES))}) import")


@dataclass(frozen=True)
class Example:
    """One code block.

    Args:
        id: Seed and ordinal, such as ``003.4``.
        heading: Of the section it stands in.
        language: As its fence says.
        code: As it stands there.
    """

    id: str
    heading: str
    language: str
    code: str

    @property
    def is_python(self) -> bool:
        """Whether it compiles as it stands."""
        try:
            _compiled(self.code, self.id, "exec")
        except SyntaxError:  # TabError and IndentationError included
            return False
        return True

    @property
    def mapped(self) -> str:
        """With its import lines changed."""
        return _IMPORT.sub(lambda found: f"from {MODULES[found[1]]} import", self.code)


@cache
def examples() -> Mapping[str, Example]:
    """Every code block of the five seeds, by id."""
    found = {}
    for number in NUMBERS:
        [path] = sorted(shared_file("seeds").glob(f"{number}_*.txt"))
        text = path.read_text("utf-8")
        lines = text.splitlines()
        for ordinal, block in enumerate(blocks(text), start=1):
            above = [line for line in lines[: block.line - 1] if re.match(r"#+ ", line)]
            heading = above[-1].lstrip("# ").strip() if above else ""
            id = f"{number}.{ordinal}"
            found[id] = Example(id, heading, block.language, block.code)
    return found


@dataclass
class Ran:
    """What running an example left behind.

    Args:
        names: Its namespace.
        values: Value of each statement that is an expression, in order.
        history: Each value that a top-level statement gave to a name, in order.
        raised: What the example says is raised, and was.
    """

    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "example"})
    values: list[Any] = field(default_factory=list)
    history: dict[str, list[Any]] = field(default_factory=dict)
    raised: list[BaseException] = field(default_factory=list)

    def __getitem__(self, name: str) -> Any:
        return self.names[name]


def run(id: str, code: str, case: Case, ran: Ran) -> Ran:
    """Run an example statement by statement.

    Args:
        id: For tracebacks.
        code: Mapped, and mended if need be.
        case: What the example takes for granted, and what it says will be raised.
        ran: A new record, or that of an earlier example to go on from.
    """
    ran.names.update(case.names())
    for node in ast.parse(code, id).body:
        try:
            _run_statement(id, node, ran)
        except case.raises as error:
            ran.raised.append(error)
    return ran


def _compiled(tree: Any, id: str, mode: str) -> Any:
    """Code that inherits no `from __future__` from this file: annotations are evaluated."""
    return compile(tree, id, mode, dont_inherit=True)


def _run_statement(id: str, node: ast.stmt, ran: Ran) -> None:
    if isinstance(node, ast.Expr):
        ran.values.append(eval(_compiled(ast.Expression(node.value), id, "eval"), ran.names))
        return
    exec(_compiled(ast.Module([node], []), id, "exec"), ran.names)
    targets = [t.id for t in getattr(node, "targets", ()) if isinstance(t, ast.Name)]
    for name in [*targets, *([node.name] if hasattr(node, "name") else [])]:
        ran.history.setdefault(name, []).append(ran.names[name])


Mend = tuple[str, str]


@dataclass(frozen=True)
class Case:
    """What becomes of one example.

    Args:
        verdict: One of `VERDICTS`.
        why: What the verdict needs said: what is broken, missing, or shown instead.
        use: Uses what the example made; fails if it does not work.
        names: The surrounding names that the example takes for granted.
        mend: The smallest change that makes broken Python run, as (old, new) texts.
        after: Id of the example whose names it goes on from.
        raises: What the example says is raised.
        cut: What of it is Python, where it is mixed with something else.
    """

    verdict: str
    why: str = ""
    use: Callable[[Ran], None] | None = None
    names: Callable[[], Mapping[str, Any]] = dict
    mend: tuple[Mend, ...] = ()
    after: str = ""
    raises: tuple[type[BaseException], ...] = ()
    cut: Callable[[str], str] | None = None


RUNS = "runs"
IMPORTS = "runs with its import lines changed"
BROKEN = "broken Python in the seed, mended"
NOT_PYTHON = "not Python"
VERDICTS = (RUNS, IMPORTS, BROKEN, NOT_PYTHON)


def mended(case: Case, code: str) -> str:
    """The code with the case's mends; each must fit exactly once."""
    code = case.cut(code) if case.cut else code
    for old, new in case.mend:
        assert code.count(old) == 1, f"the mend {old!r} fits {code.count(old)} times"
        code = code.replace(old, new)
    return code
