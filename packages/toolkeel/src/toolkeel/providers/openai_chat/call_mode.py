"""How the tools of a request are called: by the server, in the reply's text, or held to a grammar."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Literal, TypeAlias

from toolkeel.errors import SetupError
from toolkeel.model_interface import ModelRequest
from toolkeel.providers.chat_servers import ChatProfile
from toolkeel.providers.constrained.server_facts import ServerClient, ServerFacts, find_facts

Calls: TypeAlias = Literal["auto", "native", "text", "grammar"]
"""How a model calls tools; see `ChatOptions`."""


class CallMode:
    """How one model calls tools.

    Args:
        model: The model's name on the server.
        option: The option `calls`; None: ``auto`` for known local servers, else ``native``.
        profile: What the server accepts.
        client: Asks the server for its facts.

    Raises:
        SetupError: calls need a grammar that the server does not have.

    Attributes:
        option: The option `calls`.
        facts: What a local server has reported; None until it was asked.
        is_unreliable: True if a call was not read, so that calls are held to a grammar from now on.
    """

    def __init__(
        self, model: str, option: Calls | None, profile: ChatProfile, client: ServerClient
    ) -> None:
        self.option: Calls = option or ("auto" if profile.kind else "native")
        self.facts: ServerFacts | None = None
        self.is_unreliable = False
        self._model, self._profile, self._client = model, profile, client
        if self.option == "grammar" and not self.has_grammar:
            raise SetupError(
                f"OpenAIChat({model!r}, calls='grammar'): this server is not known to hold "
                "replies to a schema; connect it by its name, such as "
                "connect('llamacpp:...', base_url=...), or choose calls='text'"
            )

    @property
    def has_grammar(self) -> bool:
        """True if the server holds replies to a schema; Ollama's cloud does not."""
        known = self._profile.grammar or self._profile.json_schema
        return known and not self._model.endswith("-cloud")

    async def choose(self, request: ModelRequest) -> Calls:
        """Return how the tools of a request are called; ``auto`` becomes ``text`` or ``grammar``.

        An answer of a given form beside tools, and a call that is required, need the grammar:
        servers hold neither a reply nor its beginning to a form where they have tools of their own.
        """
        if self.option != "auto" or not self.has_grammar:
            return "text" if self.option == "auto" else self.option
        settings = request.settings
        forced = settings.tool_choice not in (None, "auto", "none")
        if settings.output is not None or forced or self.is_unreliable:
            return "grammar"
        return "grammar" if (await self._find_facts()).tools is False else "text"

    async def _find_facts(self) -> ServerFacts:
        """Return what a local server says of the model, asked in a thread and stored; empty while it does not answer."""
        if self.facts is None:
            kind = self._profile.kind
            self.facts = await asyncio.to_thread(find_facts, kind, self._client, self._model)
        return self.facts or ServerFacts()


def refuse_old_name(options: Mapping[str, object]) -> None:
    """Raise `SetupError`, naming ``calls=``, if the old option ``text_calls`` is passed.

    Raises:
        SetupError: the old option is passed.
    """
    if "text_calls" in options:
        new = "text" if options["text_calls"] == "auto" else "native"
        raise SetupError(f"OpenAIChat: text_calls= is now calls=; write calls={new!r}")
