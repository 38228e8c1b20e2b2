"""``toolkeel schema``: tools as a provider receives them."""

from __future__ import annotations

from typing import Annotated, Any, get_args

import typer

from toolkeel.builtin.tools_by_place import load_target
from toolkeel.builtin.tools_in_module import suggest_or_list
from toolkeel.define.dialect.definition import Form, definition
from toolkeel.define.names import POLICIES, wire_names
from toolkeel.define.tool import AnyTool
from toolkeel.observe.wording import pretty
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_studio.cli.terminal.streams import YELLOW, echo, note, stdout_kept_clean

_FORMS: tuple[Form, ...] = get_args(Form)
FORMS: dict[str, Form] = {**{form: form for form in _FORMS}, "openai": "openai-chat"}
"""What ``--provider`` takes."""


def command(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Where the tools are.")],
    tool: Annotated[
        str,
        typer.Argument(metavar="[TOOL]", help="One of them; all by default.", show_default=False),
    ] = "",
    provider: Annotated[
        str, typer.Option("--provider", "-p", help="openai, anthropic, bedrock, gemini, mcp ...")
    ] = "openai",
    strict: Annotated[
        bool, typer.Option("--strict", help="Ask the provider to enforce the schema.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, which is what it prints anyway.")
    ] = False,
) -> None:
    """Show tools as a provider is told of them, as JSON.

    What the provider's dialect cannot say is reported on stderr. One TOOL is one object; without
    TOOL it is a list of all.
    """
    form = FORMS.get(provider.lower())
    if form is None:
        raise UsageProblem(
            f"there is no provider {provider!r}; {suggest_or_list(provider, list(FORMS))}"
        )
    with stdout_kept_clean():
        tools = load_target(target)
    if tool and tool not in tools:
        raise UsageProblem(f"{target} has no tool {tool!r}; {suggest_or_list(tool, tools.names)}")
    aliases = wire_names(tools.names, POLICIES[form])
    chosen = [tools[tool]] if tool else list(tools)
    bodies = [_body(each, aliases[each.name], form, strict) for each in chosen]
    echo(pretty(bodies[0] if tool else bodies))


def _body(tool: AnyTool, alias: str, form: Form, strict: bool) -> dict[str, Any]:
    """Return one tool as JSON; report losses on stderr."""
    found = definition(
        alias,
        tool.description,
        tool.parameters,
        form,
        strict=strict or None,
        provider_options=tool.provider_options,
    )
    if alias != tool.name:
        note(f"{tool.name}: sent as {alias}", YELLOW)
    for loss in found.losses:
        note(f"{tool.name}: {loss}", YELLOW)
    return found.body
