"""How large, branched and deep a function is."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tests.gates.sources import Function, Module, functions

FILE_LINES = 400
FUNCTION_LINES = 50
COMPLEXITY = 10
ARGUMENTS = 6
NESTING = 4

# Public front doors: what a user says by keyword is a list of options, not of arguments, so their
# keyword-only parameters are not counted. ``module:function``, with the reason.
FRONT_DOORS: dict[str, str] = {
    "toolkeel_compat.openapi.tools:from_openapi": "which operations, and how to reach them, each by name",
    "toolkeel.agent.agent:Agent.__init__": "what an agent is made of, each by name",
    "toolkeel_workspace.search.file_search:FileSearchTool.__init__": "the parameters of the Agents SDK's",
    "toolkeel.agent.handoff:Handoff.__init__": "how a run is given away, each by name",
    "toolkeel.agent.agent:Agent.as_tool": "how an agent is called as a tool, each by name",
    "toolkeel_workspace.code.interpreter:CodeInterpreterTool.__init__": "how code runs, each by name",
    "toolkeel_workspace.files.file_tools:Files.grep": "what a model can narrow a search by, each by name",
    "toolkeel_studio.cli.commands.resume:command": "the options of a command",
    "toolkeel_studio.cli.commands.run:command": "the options of a command",
    "toolkeel_studio.cli.chat.repl:command": "the options of a command",
    "toolkeel_studio.cli.commands.gateway:command": "the options of a command",
    "toolkeel_studio.cli.commands.inspect:command": "the options of a command",
    "toolkeel_studio.cli.commands.serve:command": "the options of a command",
    "toolkeel_studio.cli.commands.sessions:decide_command": "the options of a command",
    "toolkeel_studio.cli.eval_command:command": "the options of a command",
    "toolkeel_studio.cli.worker:command": "the options of a command",
    "toolkeel_studio.cli.runs:list_command": "the options of a command",
    "toolkeel_studio.cli.runs:decide_command": "the options of a command",
    "toolkeel_studio.durable.durable:Durable.__init__": "the limits of a queue, each by name",
    "toolkeel_studio.durable.durable:Durable.start": "the options of a run, each by name",
    "toolkeel.mcp.client.mcp_server:MCPServer.__init__": "where a server is and how far it is trusted",
    "toolkeel.builtin.hosted_mcp:HostedMCP.__init__": "where a server is, whoever talks to it, and who approves its calls",
    "toolkeel_studio.gateway.gateway:Gateway.__init__": "what stands behind a gateway and who decides",
    "toolkeel_studio.serve.app:app": "who may use an agent and how, each by name",
    "toolkeel_studio.serve.channel:Channel.decide": "what a client decides and how, each by name",
    "toolkeel_studio.inspector.app:Inspector.__init__": "what a page shows and where, each by name",
    "toolkeel_workspace.sandbox.confine:Sandbox.__init__": "what a command may do, each by name",
    "toolkeel.context:RunContext.__init__": "what a run is given, each by name",
    "toolkeel.mcp.server.tool_server:ToolServer.__init__": "what a server offers and says of itself, each by name",
}

_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.comprehension)
_BLOCKS = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
    ast.Match,
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def violations(modules: Sequence[Module]) -> list[str]:
    """Everything over a limit, each as ``path:line name: number what (limit)``."""
    return [row for module in modules for row in _of_module(module)]


def _of_module(module: Module) -> Iterator[str]:
    lines = module.text.count("\n") + 1
    if lines > FILE_LINES:
        yield f"{module.path}: {lines} lines ({FILE_LINES})"
    for name, function in functions(module):
        measures = (
            ("lines", length(function), FUNCTION_LINES),
            ("complexity", complexity(function), COMPLEXITY),
            ("arguments", arguments(function, f"{module.name}:{name}"), ARGUMENTS),
            ("levels of nesting", nesting(function), NESTING),
        )
        for what, number, limit in measures:
            if number > limit:
                yield f"{module.path}:{function.lineno} {name}: {number} {what} ({limit})"


def length(function: Function) -> int:
    """Lines from ``def`` to the last one, docstring included."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def complexity(function: Function) -> int:
    """McCabe's number: one, and one more for each way the flow can part.

    That is each branch, loop, handler and comprehension, and each case of a ``match`` but for the
    one that takes anything; functions inside count with the one around them. Operators inside an
    expression do not count.
    """
    return 1 + sum(_parts(node) for node in ast.walk(function))


def _parts(node: ast.AST) -> bool:
    match node:
        case ast.match_case(pattern=ast.MatchAs(pattern=None), guard=None):
            return False
        case ast.match_case():
            return True
        case _:
            return isinstance(node, _BRANCHES)


def arguments(function: Function, place: str = "") -> int:
    """Parameters besides ``self`` and ``cls``; without the keyword-only ones of a front door.

    Args:
        function: The syntax node.
        place: ``module:function``, looked up among the front doors.
    """
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    own = 1 if positional and positional[0].arg in ("self", "cls") else 0
    keywords = 0 if place in FRONT_DOORS else len(given.kwonlyargs)
    return len(positional) - own + keywords


def nesting(node: ast.AST) -> int:
    """How many blocks stand inside each other; ``elif`` is no deeper than its ``if``."""
    deepest = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _SCOPES):
            continue
        own = int(isinstance(child, _BLOCKS) and not _is_elif(child, node))
        deepest = max(deepest, own + nesting(child))
    return deepest


def _is_elif(child: ast.AST, parent: ast.AST) -> bool:
    return (
        isinstance(child, ast.If)
        and isinstance(parent, ast.If)
        and parent.orelse == [child]
        and child.col_offset == parent.col_offset
    )
