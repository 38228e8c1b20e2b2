"""What becomes of the examples of seeds 001 (the loop) and 002 (pi's execution flow)."""

from __future__ import annotations

import asyncio
import json
import re
import time
import typing
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from types import SimpleNamespace
from typing import Any

from tests.seeds import BROKEN, NOT_PYTHON, RUNS, Case, Ran, examples
from toolkeel import Agent, RunContext, ToolCall, ToolMessage, ToolOutput, Toolset, tool, unanswered
from toolkeel.events import Event, ToolFinished, ToolStarted
from toolkeel.providers import openai_chat
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.langchain import AIMessage, BaseTool, ToolNode, init_chat_model
from toolkeel_compat.langchain import tool as langchain_tool

CITIES = {"Beijing": "22°C, 晴天", "Shanghai": "25°C, 多云"}


@tool
def weather(city: str) -> str:
    """Look up the weather.

    Args:
        city: Name of the city.
    """
    return CITIES.get(city, "unknown")


def answer(tools: Toolset, name: str, arguments: Mapping[str, object] | str) -> ToolMessage:
    [message] = tools.run_sync([ToolCall("c1", name, arguments)])
    return message


# — seed 001: the three turns —


def body(id: str) -> Any:
    """The JSON of an example, without its comments."""
    lines = examples()[id].code.splitlines()
    text = "\n".join(re.sub(r"\s//.*|^//.*", "", line) for line in lines)
    return json.loads(text.replace("[ ... ]", "[]"))


def the_first_request_can_be_sent(ran: Ran) -> None:
    sent = body("001.1")
    sent["tools"] = openai_chat.encode_tools(Toolset([weather]))
    assert sent["tools"][0]["function"]["parameters"]["required"] == ["city"]
    assert [m["role"] for m in sent["messages"]] == ["system", "user"]


def the_reply_is_a_call(ran: Ran) -> None:
    reply = openai_chat.decode(body("001.2"))
    assert reply.finish_reason == "tool_calls"
    [made] = reply.tool_calls
    assert (made.id, made.name) == ("call_abc123", "weather")
    [result] = Toolset([weather]).run_sync(reply.tool_calls)
    assert result.content == "22°C, 晴天"


def the_turn_goes_back_whole(ran: Ran) -> None:
    shown = body("001.3")["messages"][2:]
    calls = openai_chat.decode_calls(body("001.2"))
    result = ToolMessage('{"temperature": "22°C", "description": "晴天"}', calls[0].id, "weather")
    sent: Any = openai_chat.encode_turn(body("001.2"), [result])
    assert sent[1] == shown[1]
    assert sent[0]["content"] is None
    assert sent[0]["tool_calls"][0]["id"] == shown[0]["tool_calls"][0]["id"]
    mine, theirs = (m["tool_calls"][0]["function"] for m in (sent[0], shown[0]))
    assert (mine["name"], json.loads(mine["arguments"])) == ("weather", {"city": "Beijing"})
    assert json.loads(theirs["arguments"]) == json.loads(mine["arguments"])


def the_answer_ends_the_loop(ran: Ran) -> None:
    reply = openai_chat.decode(body("001.4"))
    assert (reply.text, reply.tool_calls) == ("北京今天天气不错，气温 22°C，是晴天。", ())
    assert reply.finish_reason == "stop"


def a_program() -> Any:
    model = init_chat_model(Scripted([call("weather", {"city": "Beijing"})]))
    return SimpleNamespace(_load_all_tools=lambda: [weather], default_llm=model)


def the_model_knows_its_tools(ran: Ran) -> None:
    program = ran["self"]
    reply = program.default_llm_with_tools.invoke("北京?")
    assert reply.tool_calls[0]["args"] == {"city": "Beijing"}
    [request] = program.default_llm.model.requests
    assert [t.name for t in request.tools] == ["weather"]


def the_dict_is_a_call(ran: Ran) -> None:
    [shown] = ran.values

    @tool
    def file_system(action: str, path: str) -> str:
        return f"{action} {path}"

    [result] = ToolNode([file_system]).invoke([AIMessage(tool_calls=[shown])])
    assert (result.content, result.tool_call_id) == ("read D:/data.txt", "call_xyz123")


def loop_names() -> Mapping[str, Any]:
    said: list[tuple[object, ...]] = []
    model = Scripted([call("weather", {"city": "Beijing"}, "call_1"), "北京是晴天。"])
    return {
        "llm": init_chat_model(model).bind_tools([weather]),
        "my_fake_weather_tool": lambda args: weather.invoke(args),
        "print": lambda *words: said.append(words),
        "said": said,
    }


def the_loop_ends_with_an_answer(ran: Ran) -> None:
    user, asked, result = ran["messages"]
    assert (user["role"], result["role"]) == ("user", "tool")
    assert isinstance(asked, AIMessage)
    assert (result["tool_call_id"], result["content"]) == ("call_1", "22°C, 晴天")
    assert ran["said"][-1] == ("最终回答:", "北京是晴天。")
    last = ran["llm"].model.requests[-1].messages
    assert [type(m).__name__ for m in last] == ["HumanMessage", "AIMessage", "ToolMessage"]


def two_calls(ran: Ran) -> None:
    [shown] = ran.values
    results = ToolNode([weather]).invoke([AIMessage(tool_calls=shown)])
    assert [m.tool_call_id for m in results] == ["call_1", "call_2"]
    assert [m.content for m in results] == list(CITIES.values())


def pool_names() -> Mapping[str, Any]:
    def execute(name: str, args: Mapping[str, Any]) -> dict[str, object]:
        """As a program without an event loop runs a tool, each in a plain thread."""
        return {"result": answer(Toolset([weather]), name, args).content}

    calls = [
        {"name": "weather", "args": {"city": city}, "id": f"call_{n}"}
        for n, city in enumerate(CITIES, start=1)
    ]
    return {
        "response": AIMessage(tool_calls=calls),
        "self": SimpleNamespace(_execute_tool=execute),
        "ThreadPoolExecutor": ThreadPoolExecutor,
        "as_completed": as_completed,
        "messages": [],
    }


def every_thread_has_its_result(ran: Ran) -> None:
    found = {r["tool_call_id"]: r["result"] for r in ran["parallel_results"]}
    assert found == {"call_1": "22°C, 晴天", "call_2": "25°C, 多云"}


def executor_names() -> Mapping[str, Any]:
    return {"executor": ThreadPoolExecutor(2), "func": lambda info: info["id"]}


def both_ways_submit_each_call(ran: Ran) -> None:
    first, empty_then_filled = ran.history["future_to_tool"]
    assert [f.result() for f in first] == ["call_1", "call_2"]
    assert [f.result()["result"] for f in empty_then_filled] == list(CITIES.values())
    assert list(empty_then_filled.values()) == ran["tool_call_infos"]
    ran["executor"].shutdown()


def results_are_in_call_order(ran: Ran) -> None:
    assert [(m["role"], m["tool_call_id"]) for m in ran["messages"]] == [
        ("tool", "call_1"),
        ("tool", "call_2"),
    ]
    assert [m["content"] for m in ran["messages"]] == list(CITIES.values())


def the_model_describes_one_field(ran: Ran) -> None:
    @langchain_tool(args_schema=ran["CalculatorInput"])
    def calculate(expression: str) -> str:
        return expression

    assert "2 + 2 * (3 - 1)" in calculate.args["expression"]["description"]
    assert calculate.tool_call_schema["required"] == ["expression"]


def calculator_names() -> Mapping[str, Any]:
    from toolkeel.builtin.calculator import calculator

    return {"BaseTool": BaseTool, "calculate": calculator}


def the_calculator_calculates(ran: Ran) -> None:
    made = ran["CalculatorTool"]()
    assert (made.name, made.description) == ("calculator", "执行数学计算，支持加减乘除和括号")
    assert made.invoke({"expression": "2 + 2 * (3 - 1)"}) == "6"
    assert made.invoke("1 / 0").startswith("计算错误: ")
    result = answer(Toolset([made]), "calculator", {"expression": "2 ** 10"})
    assert result.content == "1024"


def the_registry_is_a_toolset(ran: Ran) -> None:
    loaded = ran["_load_all_tools"](None)
    tools = Toolset(loaded)
    assert tools.names == tuple(ran["ALL_TOOLS"])
    assert answer(tools, "calculator", {"expression": "3 * 4"}).content == "12"


# — seed 002: what the TypeScript shows, in our words —


@tool
def read(path: str) -> ToolOutput:
    """Read file contents.

    Args:
        path: File path to read.
    """
    return ToolOutput("File content:\nconsole.log('hello')", details={"path": path, "size": 23})


def a_call_is_told_checked_run_and_wrapped(ran: Ran) -> None:
    events: list[Event] = []
    run = RunContext(listeners=(events.append,))
    [result] = Toolset([read]).run_sync([ToolCall("t1", "read", '{"path": "hello.ts"}')], run)
    first, last = events
    assert isinstance(first, ToolStarted)
    assert isinstance(last, ToolFinished)
    assert (first.type, last.type) == ("tool_started", "tool_finished")
    assert 0 < first.at <= last.at
    assert last.message is result
    assert result.content == "File content:\nconsole.log('hello')"
    assert result.details["size"] == 23
    assert result.duration > 0


def calls_are_read_from_the_wire(ran: Ran) -> None:
    function = {"name": "write", "arguments": '{"path":"hello.ts","content":"hi"}'}
    entry = {"id": "call_abc123", "type": "function", "function": function}
    message = {"role": "assistant", "content": "我来创建文件", "tool_calls": [entry]}
    [made] = openai_chat.decode_calls({"choices": [{"message": message}]})
    assert (made.id, made.name) == ("call_abc123", "write")
    broken = ToolCall("1", "read", '{"path": "hel')
    [refused] = Toolset([read]).run_sync([broken])
    assert refused.kind == "malformed_arguments"  # and never {} as in the seed


def wrong_parameters_name_every_field(ran: Ran) -> None:
    refused = answer(Toolset([read]), "read", {"file": "hello.ts"})
    assert refused.kind == "invalid_arguments"
    assert "path" in refused.text
    assert "file" in refused.text


def the_model_corrects_itself(ran: Ran) -> None:
    model = Scripted([call("read", {"file": "a"}), call("read", {"path": "a"}), "done"])
    result = Agent(model, [read]).run_sync("read it")
    kinds = [m.kind for m in result.messages if isinstance(m, ToolMessage)]
    assert kinds == ["invalid_arguments", None]
    assert result.corrections["read"].rate == 1.0


def sync_and_async_run_alike(ran: Ran) -> None:
    @tool
    def now(value: int) -> int:
        return value * 2

    @tool
    async def later(value: int) -> int:
        await asyncio.sleep(0)
        return value * 2

    tools = Toolset([now, later])
    assert [answer(tools, name, {"value": 4}).content for name in tools.names] == ["8", "8"]


def the_model_reads_only_the_output(ran: Ran) -> None:
    result = answer(Toolset([read]), "read", {"path": "hello.ts"})
    sent: Any = openai_chat.encode_turn(
        AIMessage(tool_calls=[ToolCall("c1", "read", {})]), [result]
    )
    assert sent[1]["content"] == "File content:\nconsole.log('hello')"
    assert "size" not in json.dumps(sent)
    assert result.details["path"] == "hello.ts"


def an_unknown_tool_is_told_what_there_is(ran: Ran) -> None:
    refused = answer(Toolset([read, weather]), "reed", {})
    assert refused.kind == "unknown_tool"
    assert "Did you mean 'read'?" in refused.text
    assert "weather" in refused.text


def a_failing_body_is_a_result(ran: Ran) -> None:
    @tool
    def broken(path: str) -> str:
        raise FileNotFoundError(path)

    crashed, fine = Toolset([broken, read]).run_sync(
        [ToolCall("1", "broken", {"path": "x"}), ToolCall("2", "read", {"path": "y"})]
    )
    assert (crashed.kind, crashed.details["exception"]) == ("crashed", "FileNotFoundError")
    assert fine.status == "success"


def serial_and_parallel_keep_the_order(ran: Ran) -> None:
    @tool
    async def wait(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return str(seconds)

    calls = [ToolCall(str(n), "wait", {"seconds": s}) for n, s in enumerate((0.06, 0.03, 0.0))]
    took = []
    for parallel in (False, True):
        begin = time.perf_counter()
        results = Toolset([wait], parallel=parallel).run_sync(calls)
        took.append(time.perf_counter() - begin)
        assert [m.content for m in results] == ["0.06", "0.03", "0.0"]
    assert took[1] < took[0]


def a_tool_has_its_deadline(ran: Ran) -> None:
    @tool(timeout=0.02)
    async def hang() -> str:
        await asyncio.sleep(30)
        return "never"

    stopped = answer(Toolset([hang]), "hang", {})
    assert stopped.kind == "timeout"


def all_is_answered_when_it_ends(ran: Ran) -> None:
    calls = [ToolCall(str(n), "read", {"path": "a"}) for n in range(3)]
    asked = AIMessage(tool_calls=calls)
    results = Toolset([read]).run_sync(calls)
    assert unanswered([asked, *results]) == ()
    assert len(unanswered([asked, *results[:2]])) == 1


TYPESCRIPT = "TypeScript; what it shows is tested in Python"
FILES = (
    "a sketch of a session with file tools and a shell, in TypeScript; those tools are issue 7's"
)


def shown(use: typing.Callable[[Ran], None]) -> Case:
    return Case(NOT_PYTHON, TYPESCRIPT, use=use)


CASES: Mapping[str, Case] = {
    "001.1": Case(NOT_PYTHON, "JSON with comments", use=the_first_request_can_be_sent),
    "001.2": Case(NOT_PYTHON, "JSON with comments", use=the_reply_is_a_call),
    "001.3": Case(NOT_PYTHON, "JSON with comments", use=the_turn_goes_back_whole),
    "001.4": Case(NOT_PYTHON, "JSON with comments", use=the_answer_ends_the_loop),
    "001.5": Case(RUNS, use=the_model_knows_its_tools, names=lambda: {"self": a_program()}),
    "001.6": Case(RUNS, use=the_dict_is_a_call),
    "001.7": Case(RUNS, use=the_loop_ends_with_an_answer, names=loop_names),
    "001.8": Case(RUNS, use=two_calls),
    "001.9": Case(RUNS, use=every_thread_has_its_result, names=pool_names),
    "001.10": Case(
        BROKEN,
        "one line is indented with spaces where those beside it have tabs",
        use=both_ways_submit_each_call,
        names=executor_names,
        mend=(("    future_to_tool[future] = info", "\tfuture_to_tool[future] = info"),),
        after="001.9",
    ),
    "001.11": Case(RUNS, use=results_are_in_call_order, after="001.9"),
    "001.12": Case(RUNS, use=the_model_describes_one_field),
    "001.13": Case(
        BROKEN,
        "'_run' stands outside its class and its 'try' is empty; indented, and filled",
        use=the_calculator_calculates,
        names=calculator_names,
        mend=(
            ("def _run(self", "\tdef _run(self"),
            ("\ttry:", "\t\ttry:"),
            ("\t\t# xxxx", "\t\t\treturn calculate(expression)"),
            ("\texcept Exception as e:", "\t\texcept Exception as e:"),
            ("\treturn f", "\t\t\treturn f"),
        ),
        after="001.12",
    ),
    "001.14": Case(
        BROKEN,
        "the function that loads the tools does not return them",
        use=the_registry_is_a_toolset,
        names=lambda: {"List": typing.List},  # the example's own spelling
        mend=(
            (
                "\t\tCalculatorTool(), # 新增实例\n\t]",
                "\t\tCalculatorTool(),\n\t]\n\treturn real_tools",
            ),
        ),
        after="001.13",
    ),
    "002.1": Case(NOT_PYTHON, "a diagram of 002.2"),
    "002.2": shown(a_call_is_told_checked_run_and_wrapped),
    "002.3": shown(calls_are_read_from_the_wire),
    "002.4": shown(calls_are_read_from_the_wire),
    "002.5": shown(calls_are_read_from_the_wire),
    "002.6": shown(wrong_parameters_name_every_field),
    "002.7": shown(the_model_corrects_itself),
    "002.8": shown(sync_and_async_run_alike),
    "002.9": shown(sync_and_async_run_alike),
    "002.10": shown(sync_and_async_run_alike),
    "002.11": shown(the_model_reads_only_the_output),
    "002.12": shown(the_model_reads_only_the_output),
    "002.13": shown(the_model_reads_only_the_output),
    "002.14": shown(the_model_reads_only_the_output),
    "002.15": Case(NOT_PYTHON, "a sketch of a user interface, in JSX"),
    "002.16": shown(the_model_reads_only_the_output),
    "002.17": shown(an_unknown_tool_is_told_what_there_is),
    "002.18": shown(wrong_parameters_name_every_field),
    "002.19": shown(a_failing_body_is_a_result),
    "002.20": shown(a_failing_body_is_a_result),
    "002.21": shown(an_unknown_tool_is_told_what_there_is),
    "002.22": shown(wrong_parameters_name_every_field),
    "002.23": shown(serial_and_parallel_keep_the_order),
    "002.24": shown(serial_and_parallel_keep_the_order),
    "002.25": Case(NOT_PYTHON, FILES),
    "002.26": Case(NOT_PYTHON, FILES),
    "002.27": Case(NOT_PYTHON, FILES),
    "002.28": shown(wrong_parameters_name_every_field),
    "002.29": Case(NOT_PYTHON, "TypeScript; a cache of results is a step of the core"),
    "002.30": shown(a_tool_has_its_deadline),
}
