"""A computer as a tool: both interfaces, warnings, and the wires that have a tool of their own."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

from tests.waiting import run as run_async
from toolkeel import Agent, Image, RunContext, SetupError, ToolCall, ToolMessage, Toolset
from toolkeel.messages import UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers import anthropic, openai_chat, openai_responses
from toolkeel.testing.scripted import Scripted, call
from toolkeel_workspace.computer.tool import SAFETY_CHECKS_KEY, Computer, ComputerTool, SafetyCheck

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


@pytest.fixture(autouse=True)
def still_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkeel_workspace.computer.tool.SETTLE_SECONDS", 0.0)


class Small(Computer):
    """The small interface, some of it sync and some async."""

    def __init__(self) -> None:
        self.did: list[tuple[Any, ...]] = []

    @property
    def display_width_px(self) -> int:
        return 800

    @property
    def display_height_px(self) -> int:
        return 600

    async def screenshot(self) -> bytes:
        return PNG

    def mouse_move(self, x: int, y: int) -> None:
        self.did.append(("move", x, y))

    async def mouse_click(self, button: str) -> None:
        self.did.append(("click", button))

    def keyboard_type(self, text: str) -> None:
        self.did.append(("type", text))


class Full:
    """The full interface."""

    environment = "ubuntu"
    dimensions = (640, 480)

    def __init__(self) -> None:
        self.did: list[tuple[Any, ...]] = []

    def screenshot(self) -> str:
        return base64.b64encode(PNG).decode()

    def __getattr__(self, name: str) -> Any:
        if name not in ("click", "double_click", "scroll", "type", "move", "keypress", "drag"):
            raise AttributeError(name)

        def do(*args: Any) -> None:
            self.did.append((name, *args))

        return do


def act(computer: Any, *actions: dict[str, Any], **options: Any) -> ToolMessage:
    tools = Toolset([ComputerTool(computer, **options)])
    one = ToolCall("c", "computer", {"actions": list(actions)})
    return run_async(lambda: tools.run([one]))[0]


def test_the_small_interface_moves_clicks_and_types() -> None:
    computer = Small()
    result = act(
        computer,
        {"type": "click", "x": 5, "y": 6, "button": "right"},
        {"type": "double_click", "x": 7, "y": 8},
        {"type": "type", "text": "你好"},
        {"type": "screenshot"},
    )
    assert computer.did == [
        ("move", 5, 6), ("click", "right"), ("move", 7, 8), ("click", "left"), ("click", "left"),
        ("type", "你好"),
    ]  # fmt: skip
    [picture] = result.content
    assert isinstance(picture, Image) and picture.data == PNG
    assert result.details["actions"] == 4


def test_the_full_interface_does_every_action() -> None:
    computer = Full()
    result = act(
        computer,
        {"type": "click", "x": 1, "y": 2},
        {"type": "scroll", "x": 1, "y": 2, "scroll_y": 300},
        {"type": "drag", "path": [{"x": 1, "y": 1}, {"x": 9, "y": 9}]},
        {"type": "keypress", "keys": ["CTRL", "A"]},
        {"type": "move", "x": 3, "y": 4},
        {"type": "wait", "seconds": 0},
    )
    assert not result.failed
    assert computer.did == [
        ("click", 1, 2, "left"), ("scroll", 1, 2, 0, 300), ("drag", [(1, 1), (9, 9)]),
        ("keypress", ["CTRL", "A"]), ("move", 3, 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ({"type": "click", "x": 800, "y": 0}, "not on the screen"),
        ({"type": "click", "x": -1, "y": 0}, "not on the screen"),
        ({"type": "scroll", "x": 1, "y": 1, "scroll_y": 9}, "cannot scroll"),
        ({"type": "keypress", "keys": ["A"]}, "cannot press"),
        ({"type": "goto", "url": "http://x"}, "opens no addresses"),
    ],
)
def test_what_cannot_be_done_is_told_with_a_picture_and_ends_the_actions(
    action: dict[str, Any], why: str
) -> None:
    computer = Small()
    result = act(computer, {"type": "type", "text": "a"}, action, {"type": "type", "text": "b"})
    assert result.failed and why in result.text and "1 of 3" in result.text
    assert any(isinstance(block, Image) for block in result.content)
    assert computer.did == [("type", "a")]


def test_an_unknown_action_never_reaches_the_computer() -> None:
    computer = Small()
    result = act(computer, {"type": "explode"}, {"type": "click", "x": "a", "y": 1})
    assert result.kind == "invalid_arguments" and computer.did == []
    assert "actions[0].type" in result.text


def test_something_that_is_no_computer_is_refused_when_the_tool_is_made() -> None:
    with pytest.raises(SetupError, match="no computer"):
        ComputerTool(object())
    with pytest.raises(SetupError, match="computer_20250124"):
        ComputerTool(Small(), claude="computer_1")  # type: ignore[arg-type]


def test_any_vision_model_uses_it_as_a_function() -> None:
    model = Scripted([call("computer", {"actions": [{"type": "screenshot"}]}), "A blank page."])
    result = Agent(model, [ComputerTool(Small())]).run_sync("What do you see?")
    assert result.output == "A blank page."
    [definition] = openai_chat.encode_tools([ComputerTool(Small()).tool])
    assert definition["function"]["name"] == "computer"  # type: ignore[index]
    assert "800 x 600" in str(definition)


# — warnings —

WARNING = {"id": "sc_1", "code": "malicious_instructions", "message": "The page gives orders."}


def warned(tool: ComputerTool, run: RunContext[Any] | None = None) -> ToolMessage:
    arguments = {"actions": [{"type": "type", "text": "x"}], "safety_checks": [WARNING]}
    return run_async(lambda: Toolset([tool]).run([ToolCall("c", "computer", arguments)], run))[0]


def test_a_call_with_warnings_needs_approval_and_acknowledges_them() -> None:
    computer, asked = Small(), []

    def approve(ticket: Any) -> bool:
        asked.append(ticket.arguments["safety_checks"][0]["message"])
        return True

    result = warned(ComputerTool(computer), RunContext(approver=approve))
    assert asked == ["The page gives orders."] and result.details[SAFETY_CHECKS_KEY] == [WARNING]
    denied = warned(ComputerTool(computer))
    assert denied.kind == "denied" and computer.did == [("type", "x")]


def test_a_function_can_answer_warnings_and_only_true_means_yes() -> None:
    seen: list[SafetyCheck] = []

    async def yes(check: SafetyCheck) -> bool:
        seen.append(check)
        return True

    computer = Small()
    assert warned(ComputerTool(computer, on_safety_check=yes)).details[SAFETY_CHECKS_KEY] == [
        WARNING
    ]
    assert seen[0].code == "malicious_instructions" and seen[0].context.call.id == "c"
    for answer in (False, None, "yes"):
        refused = warned(ComputerTool(computer, on_safety_check=lambda _, a=answer: a))  # type: ignore[misc]
        assert refused.kind == "denied"
        assert "was not approved: The page gives orders." in refused.text
    assert computer.did == [("type", "x")]


def test_an_agent_suspends_on_a_warning_and_goes_on() -> None:
    arguments = {"actions": [{"type": "type", "text": "x"}], "safety_checks": [WARNING]}
    agent = Agent(Scripted([call("computer", arguments), "done"]), [ComputerTool(Small())])
    waiting = agent.run_sync("go")
    assert waiting.reason == "waiting"
    done = agent.run_sync(waiting.state, decisions=[waiting.pending[0].approve()])
    assert done.output == "done"


# — wires that have a tool of their own —


def test_openais_own_tool_takes_its_actions_and_warnings_and_gets_screenshots() -> None:
    computer = Full()
    tools = Toolset([ComputerTool(computer)])
    assert openai_responses.encode_tools(tools) == [{"type": "computer"}]
    item = {
        "type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed",
        "actions": [
            {"type": "click", "x": 5, "y": 6, "button": "left", "keys": None},
            {"type": "type", "text": "hi"},
        ],
        "pending_safety_checks": [WARNING],
    }  # fmt: skip
    reply = openai_responses.decode(
        {"object": "response", "status": "completed", "model": "gpt-5", "output": [item]},
        tools=tools,
    )
    results = run_async(lambda: tools.run(reply.tool_calls, RunContext(approver=lambda _: True)))
    assert computer.did == [("click", 5, 6, "left"), ("type", "hi")]
    body = openai_responses.encode(
        ModelRequest([UserMessage("go"), reply, *results], tuple(tools)), "gpt-5"
    )
    sent: Any = body["input"]
    for item in sent[-2:]:
        TypeAdapter[Any](ResponseInputItemParam).validate_python(item)
    assert sent[-1]["type"] == "computer_call_output" and sent[-1][SAFETY_CHECKS_KEY] == [WARNING]
    assert sent[-1]["output"]["image_url"].startswith("data:image/png;base64,")


def test_the_preview_form_says_what_the_screen_is() -> None:
    [body] = openai_responses.encode_tools([ComputerTool(Full(), preview=True).tool])
    assert body == {
        "type": "computer_use_preview",
        "environment": "ubuntu",
        "display_width": 640,
        "display_height": 480,
    }


@pytest.mark.parametrize(
    ("given", "did"),
    [
        ({"action": "left_click", "coordinate": [1, 2]}, ("click", 1, 2, "left")),
        ({"action": "middle_click", "coordinate": [1, 2]}, ("click", 1, 2, "wheel")),
        ({"action": "double_click", "coordinate": [1, 2]}, ("double_click", 1, 2)),
        ({"action": "mouse_move", "coordinate": [1, 2]}, ("move", 1, 2)),
        ({"action": "type", "text": "天"}, ("type", "天")),
        ({"action": "key", "text": "ctrl+s"}, ("keypress", ["ctrl", "s"])),
        (
            {"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4]},
            ("drag", [(1, 2), (3, 4)]),
        ),
        (
            {
                "action": "scroll", "coordinate": [1, 2],
                "scroll_direction": "down", "scroll_amount": 3,
            },
            ("scroll", 1, 2, 0, 300),
        ),
    ],
)  # fmt: skip
def test_anthropics_own_tool_takes_its_actions(given: dict[str, Any], did: tuple[Any, ...]) -> None:
    computer = Full()
    tools = Toolset([ComputerTool(computer)])
    block = {"type": "tool_use", "id": "toolu_1", "name": "computer", "input": given}
    reply = anthropic.decode(
        {"type": "message", "role": "assistant", "model": "claude", "content": [block],
         "stop_reason": "tool_use", "usage": {}},
        tools=tools,
    )  # fmt: skip
    [result] = run_async(lambda: tools.run(reply.tool_calls))
    assert not result.failed and computer.did == [did]


def test_anthropic_is_told_the_screen_and_asked_for_the_feature() -> None:
    tools = [ComputerTool(Full()).tool]
    [body] = anthropic.encode_tools(tools)
    assert body["type"] == "computer_20250124" and body["display_width_px"] == 640
    local = ComputerTool(Full(), where="local").tool
    assert "input_schema" in anthropic.encode_tools([local])[0]
    assert "double_click" in json.dumps(openai_responses.encode_tools([local])[0])


def test_an_action_of_anthropics_that_has_no_counterpart_is_told() -> None:
    tools = Toolset([ComputerTool(Full())])
    block = {"type": "tool_use", "id": "t", "name": "computer", "input": {"action": "fly"}}
    reply = anthropic.decode(
        {"type": "message", "role": "assistant", "content": [block], "stop_reason": "tool_use"},
        tools=tools,
    )
    [result] = run_async(lambda: tools.run(reply.tool_calls))
    assert result.kind == "invalid_arguments"
