"""How calls are run: arguments, errors, deadlines, threads, processes, steps."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

from toolkeel import (
    CancelToken,
    Image,
    Injected,
    Prepared,
    Proceed,
    Rules,
    RunContext,
    SetupError,
    ToolCall,
    ToolContext,
    ToolError,
    ToolOutput,
    Toolset,
    tool,
)
from toolkeel.effects import Effects
from toolkeel.executors import Futures
from toolkeel.steps import Allow, Cache, CallLimit, Reject, Retry, input_guard, output_guard
from toolkeel.testing import Fault, Faults


@tool(description="Add.")
def add(a: int, b: int) -> int:
    return a + b


@tool(description="Repeat.", executor="thread" if sys.platform == "win32" else "process")
def repeat(text: str, times: int = 2) -> str:
    return text * times


def run(tools: Toolset, *calls: tuple[str, object], run: RunContext | None = None) -> list[str]:
    made = [ToolCall(str(number), name, given) for number, (name, given) in enumerate(calls)]  # type: ignore[arg-type]
    return [f"{each.kind or 'ok'} {each.text}" for each in tools.run_sync(made, run)]


def results_come_in_the_order_of_calls() -> None:
    found = run(Toolset([add]), *(("add", {"a": n, "b": n}) for n in range(20)))
    assert found == [f"ok {2 * n}" for n in range(20)]


def text_for_an_integer_is_converted_and_true_is_refused() -> None:
    right, wrong = run(Toolset([add]), ("add", {"a": "5", "b": 1}), ("add", {"a": True, "b": 1}))
    assert right == "ok 6" and wrong.startswith("invalid_arguments")


def arguments_in_fences_are_read() -> None:
    assert run(Toolset([add]), ("add", '```json\n{"a": 1, "b": 2}\n```')) == ["ok 3"]


def a_misspelled_name_is_answered_with_the_nearest() -> None:
    [found] = run(Toolset([add]), ("ad", {}))
    assert found.startswith("unknown_tool") and "add" in found
    [found] = run(Toolset([add]), ("add", {"a": 1, "bb": 2}))
    assert "did you mean" in found.lower()


def unicode_comes_back_as_it_was() -> None:
    @tool
    def echo(text: str) -> list[str]:
        """Repeat."""
        return [text]

    assert run(Toolset([echo]), ("echo", {"text": "会话 ü 👩‍🚀"})) == ['ok ["会话 ü 👩‍🚀"]']


def an_error_of_a_tool_is_its_result() -> None:
    @tool
    def ask(item: str) -> str:
        """Ask."""
        raise ToolError(f"There is no {item}.")

    assert run(Toolset([ask]), ("ask", {"item": "tea"})) == ["tool_error There is no tea."]


def a_crash_is_one_failed_call_and_names_no_secrets() -> None:
    @tool
    def divide(by: int) -> float:
        """Divide."""
        return 1 / by

    wrong, right = run(Toolset([divide]), ("divide", {"by": 0}), ("divide", {"by": 2}))
    assert wrong.startswith("crashed") and "ZeroDivisionError" not in wrong and right == "ok 0.5"


def chosen_exceptions_are_shown_to_the_model() -> None:
    @tool(on_crash=KeyError)
    def find(key: str) -> str:
        """Find."""
        raise KeyError(key)

    assert "'tea'" in run(Toolset([find]), ("find", {"key": "tea"}))[0]


def sys_exit_is_one_failed_call() -> None:
    @tool
    def leave() -> None:
        """Leave."""
        sys.exit(3)

    assert run(Toolset([leave]), ("leave", {}))[0].startswith("crashed")


def a_coroutine_ends_at_its_deadline() -> None:
    @tool(timeout=0.01)
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    assert run(Toolset([hang]), ("hang", {}))[0].startswith("timeout")


def a_thread_is_left_at_its_deadline() -> None:
    release = threading.Event()

    @tool(timeout=0.01)
    def hang() -> None:
        """Hang."""
        release.wait()

    [found] = run(Toolset([hang]), ("hang", {}))
    release.set()
    assert found.startswith("timeout")


def calls_of_threads_run_at_the_same_time() -> None:
    together = threading.Barrier(8)

    @tool
    def meet() -> int:
        """Meet the others."""
        return together.wait(timeout=60) * 0

    assert run(Toolset([meet]), *[("meet", {})] * 8) == ["ok 0"] * 8


def sixteen_threads_share_a_toolset() -> None:
    tools, before = Toolset([add], steps=[CallLimit(10_000)]), sys.getswitchinterval()

    def work(n: int) -> list[str]:
        return run(tools, *(("add", {"a": n, "b": m}) for m in range(25)))

    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(work, range(16)))
    finally:
        sys.setswitchinterval(before)
    assert found == [[f"ok {n + m}" for m in range(25)] for n in range(16)]


def sync_calls_work_within_a_running_loop() -> None:
    async def main() -> None:
        assert run(Toolset([add]), ("add", {"a": 1, "b": 2})) == ["ok 3"]
        assert add.invoke({"a": 1, "b": 2}) == 3

    asyncio.run(main())


def async_calls_are_awaited() -> None:
    async def main() -> list[str]:
        made = [ToolCall("1", "add", {"a": 1, "b": 2})]
        return [each.text for each in await Toolset([add]).run(made)]

    assert asyncio.run(main()) == ["3"] and asyncio.run(add.ainvoke({"a": 1, "b": 2})) == 3


def context_variables_reach_the_body() -> None:
    user = contextvars.ContextVar("user", default="nobody")

    @tool
    def who() -> str:
        """Say who."""
        return user.get()

    user.set("ada")
    assert run(Toolset([who]), ("who", {})) == ["ok ada"]


def injected_values_cannot_be_sent() -> None:
    @tool
    def who(token: Annotated[str, Injected], loud: bool = False) -> str:
        """Say who."""
        return token.upper() if loud else token

    assert list(who.parameters["properties"]) == ["loud"]
    context = RunContext(inject={"token": "ada"})
    right, forged = run(
        Toolset([who]), ("who", {"loud": True}), ("who", {"token": "eve"}), run=context
    )
    assert right == "ok ADA" and forged.startswith("invalid_arguments")


def a_context_has_the_call_and_what_the_run_shares() -> None:
    @tool
    def look(context: ToolContext[str]) -> str:
        """Look."""
        context.update("seen", lambda n: n + 1, 0)
        return f"{context.call.id} {context.deps}"

    context = RunContext("ada")
    assert run(Toolset([look]), ("look", {}), ("look", {}), run=context) == ["ok 0 ada", "ok 1 ada"]
    assert context.state == {"seen": 2}


def content_and_artifact_are_apart() -> None:
    @tool
    def plot() -> ToolOutput:
        """Plot."""
        return ToolOutput("a line", artifact=[1, 2], details={"points": 2})

    [result] = Toolset([plot]).run_sync([ToolCall("1", "plot", {})])
    assert (result.content, result.artifact, result.details["points"]) == ("a line", [1, 2], 2)


def bytes_are_the_picture_they_are() -> None:
    @tool
    def draw() -> bytes:
        """Draw."""
        return b"\x89PNG\r\n\x1a\n" + bytes(32)

    [result] = Toolset([draw]).run_sync([ToolCall("1", "draw", {})])
    assert isinstance(result.content[0], Image)


def a_process_runs_a_body_and_on_windows_is_refused_with_the_fix() -> None:
    assert run(Toolset([repeat]), ("repeat", {"text": "ü"})) == ["ok üü"]
    if sys.platform == "win32":
        try:
            tool(executor="process")(repeat.function)
        except SetupError as error:
            assert "Futures(" in str(error)
        else:
            raise AssertionError("it was not refused")


def a_pool_of_your_own_runs_bodies() -> None:
    with ThreadPoolExecutor(2) as pool:

        @tool(executor=Futures(pool))
        def double(n: int) -> int:
            """Double."""
            return 2 * n

        assert run(Toolset([double]), ("double", {"n": 4})) == ["ok 8"]


def a_step_changes_arguments_and_result() -> None:
    async def more(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        return await proceed(prepared.change(a=prepared.arguments["a"] + 10))

    assert run(Toolset([add], steps=[more]), ("add", {"a": 1, "b": 2})) == ["ok 13"]


def guards_refuse_and_replace() -> None:
    @input_guard
    def small(prepared: Prepared, context: ToolContext) -> Allow | Reject:
        return Reject("Too much.") if prepared.arguments["a"] > 5 else Allow()

    @output_guard
    def hidden(prepared: Prepared, outcome: object, context: ToolContext) -> Allow:
        return Allow("***")

    found = run(
        Toolset([add], steps=[small, hidden]), ("add", {"a": 9, "b": 1}), ("add", {"a": 1, "b": 1})
    )
    assert found[0].startswith("refused") and found[1] == "ok ***"


def a_retry_repeats_what_may_be_repeated() -> None:
    tries: list[int] = []

    @tool(effects=Effects(read_only=True), steps=[Retry(3)])
    def flaky() -> int:
        """Fail twice."""
        tries.append(1)
        if len(tries) < 3:
            raise OSError("busy")
        return len(tries)

    assert run(Toolset([flaky]), ("flaky", {})) == ["ok 3"]


def a_cache_answers_equal_calls() -> None:
    calls: list[str] = []

    @tool(effects=Effects(read_only=True), steps=[Cache(ttl=300)])
    def fetch(url: str) -> str:
        """Fetch."""
        calls.append(url)
        return url

    assert run(Toolset([fetch]), *[("fetch", {"url": "a"})] * 4) == ["ok a"] * 4 and calls == ["a"]


def rules_refuse_by_name_and_argument() -> None:
    rules = Rules(deny=["add(a=1)"])
    found = run(Toolset([add], rules=rules), ("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 1}))
    assert found[0].startswith("denied") and found[1] == "ok 3"


def a_cancelled_run_has_a_result_for_each_call() -> None:
    token = CancelToken()

    @tool
    async def stop() -> None:
        """Stop all."""
        token.cancel("enough")
        await asyncio.Event().wait()

    async def main() -> list[str]:
        made = [ToolCall("1", "stop", {}), ToolCall("2", "stop", {})]
        return [
            each.kind or "ok" for each in await Toolset([stop]).run(made, RunContext(cancel=token))
        ]

    assert asyncio.run(main()) == ["cancelled", "cancelled"]


def sets_of_tools_are_joined_renamed_and_filtered() -> None:
    tools = Toolset([add]).with_prefix("x_") + [repeat]
    assert tools.names == ("x_add", "repeat") and run(tools, ("x_add", {"a": 1, "b": 1})) == [
        "ok 2"
    ]
    assert tools.filter(lambda each: each.name != "repeat").names == ("x_add",)


def an_injected_fault_is_one_failed_call() -> None:
    @tool
    async def wait() -> None:
        """Wait."""

    with Faults(Fault("run", "raise")) as faults:
        assert run(Toolset([wait]), ("wait", {}))[0].startswith("crashed")
    assert faults.hits["run"] == 1


def files_written_by_a_body_are_there() -> None:
    @tool
    def write(path: Path, text: str) -> int:
        """Write."""
        return path.write_text(text, "utf-8")

    assert run(Toolset([write]), ("write", {"path": "文.txt", "text": "ü"})) == ["ok 1"]
    assert Path("文.txt").read_text("utf-8") == "ü"
