"""Tools that some providers have of their own: what is in a function's place there.

A tool that a provider hosts is an ordinary tool that also carries a `Hosted`. On a provider that
has such a tool, the provider is sent its own JSON and either runs the tool itself, or calls it in
a form of its own which the program answers. Everywhere else the tool is a function like any other
and runs here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from toolkeel._records.record import NOTHING, record
from toolkeel.errors import SetupError

Where: TypeAlias = Literal["auto", "provider", "local"]
"""Where a hosted tool runs: at a provider that has it and else here, only there, or only here."""

Wire: TypeAlias = Literal["openai-responses", "anthropic", "gemini"]
"""The wires that know hosted tools; on all others they are functions."""

Inward: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, object]]


@record
class Native:
    """A provider's own tool.

    Args:
        body: The JSON in the request's ``tools``.
        include: Names to add to the request's ``include`` so that results are sent; only the Responses
            wire has such a list.
        betas: Features to name in the header ``anthropic-beta``; only Anthropic's wire has them.
        to_tool_arguments: Converts the arguments of a native call that the program answers, such as a
            ``computer_call``, to those of the tool's own parameters; None if they are the same.
        runs_here: True if the program answers the calls. False if the provider runs the tool, with
            results in the reply.
        aliases: Further names under which the provider calls this tool: those of its members, if the
            body represents several.
        body_lists: Lists of the request's body beside ``tools``, such as Anthropic's ``mcp_servers``;
            only its wire has them.
    """

    body: Mapping[str, Any]
    include: tuple[str, ...] = ()
    betas: tuple[str, ...] = ()
    to_tool_arguments: Inward | None = None
    runs_here: bool = False
    aliases: tuple[str, ...] = ()
    body_lists: Mapping[str, tuple[object, ...]] = NOTHING  # type: ignore[assignment]

    @property
    def type(self) -> str:
        """The type in its JSON, which for Gemini's tools is their only key."""
        kind = self.body.get("type")
        return kind if isinstance(kind, str) else next(iter(self.body), "")


@record
class Hosted:
    """A provider's own tools that replace a function, by wire.

    Args:
        natives: By wire.
        where: ``auto``: the provider's tool if there is one, else the function; ``provider`` or
            ``local``: only that.

    >>> search = Hosted({"gemini": Native({"google_search": {}})})
    >>> search.native_for("gemini").type, search.native_for("openai-chat")
    ('google_search', None)
    """

    natives: Mapping[Wire, Native] = NOTHING  # type: ignore[assignment]
    where: Where = "auto"

    def native_for(self, wire: str, *, hosting: bool = True, name: str = "") -> Native | None:
        """Return the provider's own tool that replaces this one, or None to send a function.

        Args:
            wire: Name of the wire.
            hosting: True if the server at the other end has tools of its own; one that only
                speaks the wire has none.
            name: The tool's name, for the error.

        Raises:
            SetupError: if the tool must run at the provider, which does not have it.
        """
        if self.where == "local":
            return None
        native = next((one for key, one in self.natives.items() if key == wire), None)
        if native is not None and (hosting or self.where == "provider"):
            return native
        if self.where == "provider":
            known = ", ".join(self.natives) or "none"
            raise SetupError(
                f"{name or 'the tool'} shall run at the provider (where='provider'), but "
                f"{wire} does not have it; wires that do: {known}. Use where='auto'."
            )
        return None


def native_of(tool: object, wire: str, *, hosting: bool = True) -> Native | None:
    """Return the provider's own tool that replaces `tool` on a wire, or None. Raises as `Hosted.native_for`."""
    hosted = getattr(tool, "hosted", None)
    if not isinstance(hosted, Hosted):
        return None
    return hosted.native_for(wire, hosting=hosting, name=str(getattr(tool, "name", "")))
