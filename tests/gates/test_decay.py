"""The cost of a call, a turn and a stream grows with the work, and not faster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.gates.call_costs import DEEP, GOOD, TOOLS, call_costs, named_tool, plain
from tests.gates.counts import calls
from tests.gates.fresh import fresh
from toolkeel import Agent, AssistantMessage, RunContext, ToolCall, ToolMessage, Toolset, tool
from toolkeel.agent.reply_assembly import ReplyBuilder
from toolkeel.call.arguments.partial import PartialArguments
from toolkeel.model_interface import CallDelta, Finish, ModelRequest
from toolkeel.providers.openai_chat.encode import ChatEncoder
from toolkeel.providers.openai_chat.profile import ChatTarget
from toolkeel.providers.wire.body_cache import BodyCache

ROOM = 1.1


def test_the_counts_of_a_call_are_taken_for_the_figures() -> None:
    found = call_costs()
    assert found["functions, plain"] > 0 and found["bytes while a call runs"] > 0


# — growth: four times the work is four times the calls —


def _grows_evenly(small: int, large: int, times: int) -> None:
    assert large <= times * small * ROOM, (
        f"{small} calls became {large} with {times} times the work"
    )


def test_the_cost_of_a_turn_does_not_grow_with_the_turns_before_it() -> None:
    def agent(turns: int) -> Any:
        async def work() -> None:
            replies = iter(
                [
                    AssistantMessage("", (ToolCall(f"c{n}", "plain", GOOD),), "tool_calls")
                    for n in range(turns)
                ]
                + [AssistantMessage("done")]
            )

            class Model:
                name = "script"

                async def stream(self, request: ModelRequest) -> AsyncIterator[AssistantMessage]:
                    yield next(replies)

            result = await Agent(Model(), [plain], max_turns=turns + 1).run("go")
            assert len(result.messages) == 2 * turns + 2

        return work

    _grows_evenly(calls(agent(100)), calls(agent(400)), 4)


@pytest.mark.parametrize("name", ["plain", "waits", "inline"])
def test_the_cost_of_a_call_does_not_grow_with_the_calls_of_its_turn(name: str) -> None:
    def batch(size: int) -> Any:
        turn = [ToolCall(str(n), name, GOOD) for n in range(size)]
        return lambda: TOOLS.run(turn, RunContext())

    _grows_evenly(calls(batch(100)), calls(batch(400)), 4)


def test_the_cost_of_a_piece_of_a_streamed_call_does_not_grow_with_those_before_it() -> None:
    def stream(pieces: int) -> Any:
        async def work() -> None:
            preview, reply = PartialArguments(), ReplyBuilder()
            for n in range(pieces):
                piece = f"{',' if n else chr(123) + chr(34) + 'rows' + chr(34) + ': ['}{n}"
                preview.feed(piece)
                reply.add(CallDelta(0, "c", "plain", piece))
                assert len(preview.value()) == 1 or n == 0
            reply.add(Finish("tool_calls"))
            assert reply.build().tool_calls

        return work

    _grows_evenly(calls(stream(200)), calls(stream(800)), 4)


def test_a_request_costs_what_its_turn_added() -> None:
    def requests(turns: int) -> Any:
        async def work() -> None:
            cache, messages = BodyCache(ChatEncoder, ChatTarget("m")), []
            for n in range(turns):
                call = ToolCall(f"c{n}", "plain", GOOD)
                messages += [
                    AssistantMessage("", (call,), "tool_calls"),
                    ToolMessage("ok", call.id),
                ]
                cache.encode(ModelRequest(messages))

        return work

    _grows_evenly(calls(requests(50)), calls(requests(200)), 4)


def test_finding_a_tool_costs_the_same_among_many() -> None:
    few, many = (Toolset([tool(named_tool(n)) for n in range(size)]) for size in (2, 40))

    def work(tools: Toolset) -> Any:
        return lambda: tools.run([ToolCall("1", "look_up_1", DEEP)], RunContext())

    assert calls(work(many)) == calls(work(few))


LATE = {
    "asyncio",
    "logging",
    "pydantic.fields",
    "jsonschema_rs",
    "toolkeel.call",
}


def test_defining_a_tool_loads_little_beside_pydantic(tmp_path: Path) -> None:
    code = (
        "import json, sys\nfrom pydantic import TypeAdapter\nbefore = set(sys.modules)\n"
        "from toolkeel import tool\nprint(json.dumps(sorted(set(sys.modules) - before)))"
    )
    loaded = fresh(code, tmp_path)
    assert not LATE & set(loaded)
