"""Tools that a client declares and runs itself, such as those of a page.

They belong to the session: its state has their definitions, so whichever process continues a run that
waits for a result has the tool. The definitions and the results are the client's text: the model reads
where they come from, and what it does afterwards counts as done after reading a stranger's text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from toolkeel._records.record import record
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.define.options import external
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.effects import reads
from toolkeel.errors import DefinitionError
from toolkeel_studio.serve.errors import ChannelError, Forbidden, InvalidDecision

CLIENT_TOOLS: Final = "toolkeel.client_tools"
"""Key of a session's state with the definitions of its client's tools."""
MAX_TOOLS: Final = 64
MAX_SCHEMA: Final = 20_000
"""Characters of a tool's definition as JSON."""
MAX_SCHEMAS: Final = 200_000
"""The same of all tools of a client."""
MAX_RESULT: Final = 1_000_000
"""Characters of a result as JSON."""
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
UNTRUSTED: Final = "Runs in the user's client, which describes it so: "


@record
class ClientTool:
    """A tool that the client runs.

    Args:
        name: Its name; none of the agent's own tools has it.
        description: The client's text.
        parameters: JSON Schema of its arguments.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


def check_client_tools(declared: Iterable[ClientTool], own: Toolset) -> tuple[ClientTool, ...]:
    """Return the tools that a client declares, without those that the agent itself leaves to clients.

    Raises:
        Forbidden: one has the name of another tool of the agent.
        ChannelError: there are too many, or one is no definition of a tool.
    """
    tools = {each.name: each for each in declared}
    if len(tools) > MAX_TOOLS:
        raise ChannelError(f"a client may have at most {MAX_TOOLS} tools")
    if sum(map(_size_of, tools.values())) > MAX_SCHEMAS:
        raise ChannelError(f"all tools of a client have at most {MAX_SCHEMAS} characters")
    taken = {name.casefold(): name for name in (*own.names, *own.wire_names.values())}
    for each in tuple(tools.values()):
        if not NAME.fullmatch(each.name):
            raise ChannelError(f"{each.name!r:.80} cannot be the name of a tool")
        if each.name in own and own[each.name].executor is external:
            del tools[each.name]
            continue
        if each.name.casefold() in taken or each.name in own:
            raise Forbidden(f"the agent has a tool {each.name!r}; name the client's differently")
        _compile(each)
    return tuple(tools.values())


def check_result(value: object) -> object:
    """Return the result of a call that a client ran, unless it is too large.

    Raises:
        InvalidDecision: it is.
    """
    if len(json.dumps(value, ensure_ascii=False, default=str)) > MAX_RESULT:
        raise InvalidDecision(f"the result of a call has at most {MAX_RESULT} characters")
    return value


def dump_client_tools(tools: Sequence[ClientTool]) -> list[dict[str, Any]]:
    """Return tools as a value of the session's state."""
    fields = ("name", "description", "parameters")
    return [{field: getattr(each, field) for field in fields} for each in tools]


def load_client_tools(state: Mapping[str, object]) -> tuple[ClientTool, ...]:
    """Return the tools that a session's state has."""
    stored = cast("Sequence[Mapping[str, Any]]", state.get(CLIENT_TOOLS) or ())
    return tuple(ClientTool(**each) for each in stored)


class ClientTools:
    """A tool source with what the state of a run's session has.

    Attributes:
        prefix: Of a name that a tool source of the agent has, too.
    """

    prefix = "client_"

    def __repr__(self) -> str:
        return "ClientTools()"

    def get_tools(self, run: RunContext) -> list[AnyTool]:
        """Return the tools of a run."""
        return [_compile(each) for each in load_client_tools(run.state)]


def _size_of(tool: ClientTool) -> int:
    """Return the characters of a tool's definition as JSON; too many of one that is nested too deeply."""
    try:
        return len(json.dumps(dict(tool.parameters))) + len(tool.description)
    except RecursionError:
        return MAX_SCHEMAS + 1


def _compile(tool: ClientTool) -> AnyTool:
    """Return a tool whose result comes from the client.

    Raises:
        ChannelError: its parameters are no JSON Schema of an object.
    """
    parameters = dict(tool.parameters) or {"type": "object", "properties": {}}
    if _size_of(tool) > MAX_SCHEMA:
        raise ChannelError(f"the definition of the tool {tool.name!r} is too long")
    about = UNTRUSTED + json.dumps(tool.description, ensure_ascii=False)
    try:
        return Tool.from_schema(tool.name, about, parameters, effects=reads(stranger=True))
    except (DefinitionError, TypeError, ValueError, RecursionError):
        raise ChannelError(
            f"the parameters of {tool.name!r} are no JSON Schema of an object"
        ) from None
