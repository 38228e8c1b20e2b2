"""A model and tools on a cassette: run while it records, answered from it during a replay."""

from __future__ import annotations

from collections.abc import AsyncIterator

from toolkeel._records.messages_json import load_message
from toolkeel.agent.bind_tools import Binds, count_in_run
from toolkeel.agent.reply_assembly import ReplyBuilder
from toolkeel.context import ToolContext
from toolkeel.define.tool import Prepared, Proceed, StepPlace
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import (
    Delta,
    Finish,
    Model,
    ModelRequest,
    OutputFormat,
    SupportsStructuredOutput,
    resolve_model,
)
from toolkeel.testing.cassette import Cassette, CassetteMismatch


class TapedModel(Binds):
    """A `Model` that records replies to a cassette, or replays them.

    >>> from toolkeel.testing.scripted import Scripted
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "hello.json"
    >>> TapedModel(Cassette(file, "once"), Scripted(["Hello."])).bind_tools([]).invoke("Hi").text
    'Hello.'
    >>> TapedModel(Cassette(file)).bind_tools([]).invoke("Hi").text
    'Hello.'

    Args:
        cassette: Where replies are stored.
        model: Model that replies while it records: a `Model`, or a name such as ``openai:gpt-5``, which
            is looked up only then, so that playing needs no key.

    Raises:
        SetupError: while it records, the name of the model is unknown.
    """

    def __init__(self, cassette: Cassette, model: Model | str = "") -> None:
        self._cassette = cassette
        self._given = model
        if cassette.records and model:
            self._model()

    @property
    def name(self) -> str:
        """The recorded model's name."""
        return self._cassette.model_name or "cassette"

    def supports_format(self, output: OutputFormat, *, tools: bool) -> bool:
        """Return True if the recorded model can constrain its replies to a schema; record that while it records."""
        if self._cassette.records and self._given:
            model = self._model()
            held = isinstance(model, SupportsStructuredOutput) and model.supports_format(
                output, tools=tools
            )
            self._cassette.structured_output = held
        return self._cassette.structured_output

    @count_in_run
    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """Yield the recorded reply at once, or the model's own as it arrives, recording it at its end.

        Raises:
            CassetteMismatch: nothing was recorded for the request, and nothing may be.
        """
        kept = self._cassette.find(request)
        if kept is not None:
            yield kept
            return
        model = self._model()
        snapshot = ModelRequest(tuple(request.messages), request.tools, request.settings)
        assembly = ReplyBuilder()
        ended = False
        async for delta in model.stream(request):
            assembly.add(delta)
            if isinstance(delta, AssistantMessage | Finish):  # nobody asks for more after these
                self._cassette.add(snapshot, assembly.build())
                ended = True
            yield delta
        if not ended:
            self._cassette.add(snapshot, assembly.build())

    def _model(self) -> Model:
        """Return the model to record, created from its name; raise CassetteMismatch if none was named.

        Stores the model, and its name in the cassette. Raises `SetupError` for an unknown name.
        """
        if isinstance(self._given, str):
            if not self._given:
                raise CassetteMismatch("a request is to be recorded, but no model was named")
            self._given = resolve_model(self._given)
        self._cassette.model_name = self._given.name
        return self._given


class TapedTools:
    """A `Step` that gives the recorded result of a call instead of running its body.

    Approval is still required during a replay, since the step runs after it. While the cassette
    records, bodies run. A call that was not recorded is an error, never a run of the body; leave
    the step out to have all bodies run.

    Args:
        cassette: Its requests contain the results of earlier calls.
    """

    place: StepPlace = "cache"

    def __init__(self, cassette: Cassette) -> None:
        self._cassette = cassette

    async def __call__(self, prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        """Return the recorded result; while the cassette records, run the body instead.

        Raises:
            CassetteMismatch: no result was recorded, and the cassette does not record.
        """
        call = prepared.call
        kept = self._cassette.result_of(call, prepared.tool.name)
        if kept is not None:
            return load_message(kept)
        if self._cassette.records:
            return await proceed(prepared)
        raise CassetteMismatch(
            f"{self._cassette.path.name}: no result of {prepared.tool.name!r} was recorded for the "
            f"call {call.id!r}; its body did not run"
        )
