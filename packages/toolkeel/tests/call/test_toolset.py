"""Toolsets: names, choosing, joining."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import Rules, SetupError, ToolCall, ToolError, Toolset, tool
from toolkeel._common.nearest_names import fold_name
from toolkeel.errors import DefinitionError, DuplicateToolError


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool("天气.查询")
def weather(city: str) -> str:
    """Weather."""
    return city


class Desk:
    @tool
    def greet(self, name: str) -> str:
        """Greet."""
        return f"{name} at the desk"


def test_functions_tools_and_methods_of_objects_make_a_set_in_their_order():
    tools = Toolset([add, weather, Desk().greet])
    assert tools.names == ("add", "天气.查询", "greet")
    assert len(tools) == 3 and "add" in tools and tools["greet"].name == "greet"
    assert tools.run_sync([ToolCall("1", "greet", {"name": "Ada"})])[0].content == "Ada at the desk"


def test_two_tools_of_one_name_are_refused_and_both_owners_named():
    def other() -> None:
        """Another."""

    with pytest.raises(DuplicateToolError, match=r"'add'.*test_toolset\.add.*other"):
        Toolset([add, tool("add")(other)])


def test_a_method_without_its_instance_is_refused_with_the_fix():
    with pytest.raises(DefinitionError, match=r"instance\.greet"):
        Toolset([Desk.greet])


def test_names_no_provider_takes_go_out_under_an_alias_and_come_back_under_their_own():
    tools = Toolset([add, weather])
    alias = tools.wire_names["天气.查询"]
    assert alias.isascii() and tools.wire_names["add"] == "add"
    [result] = tools.run_sync([ToolCall("1", alias, {"city": "北京"})])
    assert (result.name, result.content) == ("天气.查询", "北京")


def test_an_unknown_name_is_answered_with_the_nearest_and_a_bounded_list():
    many = Toolset([tool(f"tool_{n}")(lambda: "x") for n in range(500)])
    [result] = many.run_sync([ToolCall("1", "tool_4999")])
    assert result.kind == "unknown_tool" and "'tool_499'" in result.text
    assert len(result.text) < 1000 and "and 480 more" in result.text
    with pytest.raises(KeyError, match="tool_499"):
        many["tool_4999"]


def test_sets_are_filtered_renamed_prefixed_and_joined():
    tools = Toolset([add, weather])
    assert tools.filter(lambda item: item.name == "add").names == ("add",)
    assert tools.rename({"add": "plus"}).names == ("plus", "天气.查询")
    assert tools.with_prefix("my_").names == ("my_add", "my_天气.查询")
    assert (tools + [Desk().greet]).names[-1] == "greet"
    with pytest.raises(SetupError, match="cannot rename minus"):
        tools.rename({"minus": "x"})
    with pytest.raises(DuplicateToolError):
        tools + tools


def test_a_set_without_parallel_calls_runs_them_one_after_the_other():
    running = peak = 0

    @tool
    async def one() -> str:
        """Count how many run."""
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0.001)
        running -= 1
        return "x"

    calls = [ToolCall(str(n), "one") for n in range(5)]
    Toolset([one], parallel=False).run_sync(calls)
    assert peak == 1
    Toolset([one], max_concurrency=2).run_sync(calls)
    assert peak == 2
    Toolset([one]).run_sync(calls)
    assert peak == 5


def test_no_calls_give_no_results():
    assert Toolset([add]).run_sync([]) == []


def test_a_function_that_speaks_of_itself_becomes_a_tool():
    @tool
    def countdown(n: int) -> list[int]:
        """Count down."""
        return [n, *(countdown(n - 1) if n else [])]

    assert countdown.invoke({"n": 2}) == [2, 1, 0]


# — what sets carry —


def _counting(log: list[str], name: str) -> Any:
    async def step(prepared: Any, context: Any, proceed: Any) -> object:
        log.append(name)
        return await proceed(prepared)

    return step


def test_joined_sets_keep_their_steps_around_their_own_tools() -> None:
    log: list[str] = []
    one = Toolset([add], steps=[_counting(log, "one")])
    two = Toolset([tool("minus")(lambda a, b: a - b)], steps=[_counting(log, "two")])
    for joined in (one + two, Toolset(one) + Toolset(two), one.with_tools([*one]) + two):
        log.clear()
        joined.run_sync([ToolCall("1", "minus", {"a": 1, "b": 1})])
        assert log[-1] == "two"
        log.clear()
        joined.run_sync([ToolCall("1", "add", {"a": 1, "b": 1})])
        assert log == ["one"]


def test_a_set_made_of_a_set_keeps_its_steps_and_one_after_another() -> None:
    log: list[str] = []
    inner = Toolset([add], steps=[_counting(log, "inner")], parallel=False)
    outer = Toolset(inner, steps=[_counting(log, "outer")])
    outer.run_sync([ToolCall("1", "add", {"a": 1, "b": 1})])
    assert log == ["outer", "inner"]
    assert outer["add"].sequential


def test_choosing_from_a_set_keeps_its_steps_once() -> None:
    log: list[str] = []
    tools = Toolset([add], steps=[_counting(log, "step")])
    for chosen in (
        tools.filter(lambda _: True),
        tools.rename({"add": "plus"}),
        tools.with_prefix("x_"),
        tools.with_steps(),
    ):
        log.clear()
        chosen.run_sync([ToolCall("1", chosen.names[0], {"a": 1, "b": 1})])
        assert log == ["step"]
    log.clear()
    tools.with_steps(_counting(log, "around")).run_sync([ToolCall("1", "add", {"a": 1, "b": 1})])
    assert log == ["around", "step"]


def test_rules_are_about_a_whole_set_and_are_never_lost_in_silence() -> None:
    guarded = Toolset([add], rules=Rules(deny=["*"]))
    for join in (lambda: Toolset([]) + guarded, lambda: Toolset(guarded)):
        with pytest.raises(SetupError, match="rules of its own"):
            join()
    assert guarded.filter(lambda _: True).rules is guarded.rules
    [result] = (guarded + [tool("free")(lambda: 1)]).run_sync([ToolCall("1", "free")])
    assert result.kind == "denied"


@pytest.mark.parametrize(
    "options", [{"max_concurrency": 0}, {"max_concurrency": -1}, {"max_threads": 0}]
)
def test_a_set_without_room_for_a_call_is_refused(options: Any) -> None:
    with pytest.raises(SetupError, match="room for at least one call"):
        Toolset([add], **options)


@pytest.mark.parametrize("name", [None, 5, "", "\ud800", "x" * 10_000])
def test_any_name_that_is_none_of_ours_is_answered(name: Any) -> None:
    calls = [ToolCall("1", name), ToolCall("2", "add", {"a": 1, "b": 2})]
    results = Toolset([add]).run_sync(calls)
    assert [r.kind for r in results] == ["unknown_tool", None]
    results[0].text.encode()
    assert len(results[0].text) < 500


@pytest.mark.parametrize("many", [1, 2])
@pytest.mark.parametrize("kind", ["dicts", "one", "generator", "none", "text"])
def test_what_is_no_list_of_calls_is_refused_at_once_with_what_makes_one(
    kind: str, many: int
) -> None:
    call = ToolCall("1", "same", '{"text": "x"}')
    wrong: Any = {
        "dicts": [{"id": "1", "name": "same", "arguments": "{}"}] * many,
        "one": call,
        "generator": (call for _ in range(many)),
        "none": None,
        "text": "x" * many,
    }[kind]

    @tool
    def same(text: str) -> str:
        """Same."""
        return text

    with pytest.raises(SetupError, match=r"decode_calls\(reply\)"):
        Toolset([same]).run_sync(wrong)
    with pytest.raises(SetupError, match=r"give a list"):
        Toolset(same)  # type: ignore[arg-type]


def named(name: str) -> Any:
    return tool(name)(lambda: name)


def test_a_name_that_no_tool_may_have_is_refused_when_it_is_given() -> None:
    for change in (lambda s: s.with_prefix("my "), lambda s: s.rename({"a": "b c"})):
        with pytest.raises(DefinitionError, match=r"contains ' '; use"):
            change(Toolset([named("a")]))


def test_a_list_and_a_set_are_one_set() -> None:
    assert ([named("a")] + Toolset([named("b")])).names == ("a", "b")


def test_what_is_no_run_is_refused_with_what_to_give() -> None:
    with pytest.raises(SetupError, match=r"give RunContext\(deps=\.\.\.\)"):
        Toolset([named("a")]).run_sync([ToolCall("1", "a")], {"user": 1})  # type: ignore[arg-type]


def _named(*names: str) -> Toolset:
    return Toolset([tool(name)(lambda: "ran") for name in names])


@pytest.mark.parametrize(
    "said",
    [
        *("functions.get_weather", "getWeather", "Get-Weather", "GET_WEATHER", "tools/get_weather"),
        *("default_api:getWeather", "ｇｅｔ_weather", "weather::get_weather", "get weather"),
    ],
)
def test_a_name_spelt_otherwise_is_mended_where_only_one_tool_fits(said: str) -> None:
    [result] = _named("get_weather", "get_time").run_sync([ToolCall("1", said, "{}")])
    assert (result.content, result.name) == ("ran", "get_weather")
    assert result.details["coerced"] == (f"{said!r} was taken as the tool 'get_weather'",)


def test_a_name_that_two_tools_might_be_is_not_guessed_but_both_are_named() -> None:
    [result] = _named("getTime", "get_time").run_sync([ToolCall("1", "GET-TIME", "{}")])
    assert result.kind == "unknown_tool"
    assert "Did you mean 'getTime' or 'get_time'?" in result.text


NAMES = st.text(st.sampled_from("abAB_-.xX"), min_size=1, max_size=6)


@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), NAMES)
def test_no_name_ever_reaches_another_tool_than_the_one_it_spells(
    names: list[str], said: str
) -> None:
    tools = _named(*names)
    [result] = tools.run_sync([ToolCall("1", said, "{}")])
    if said in names:
        assert result.name == said
    elif result.kind is None:
        alike = [name for name in names if name == result.name]
        assert [name for name in names if fold_name(name) == fold_name(alike[0])] == alike


def test_what_cannot_be_called_is_not_suggested() -> None:
    tools = Toolset(
        [tool("send_mail", enabled=False)(lambda: "ran"), tool("read_mail")(lambda: "ran")]
    )
    [result] = tools.run_sync([ToolCall("1", "send_mails", "{}")])
    assert result.kind == "unknown_tool"
    assert "send_mail'?" not in result.text and result.text.endswith("called: read_mail.")


def test_a_renamed_tool_calls_itself_by_its_new_name_in_all_it_says() -> None:
    def pay(amount: int) -> int:
        """Pay."""
        raise ToolError("no money")

    tools = Toolset([pay]).with_prefix("bank_")
    calls = [
        ToolCall("1", "bank_pay", '{"amount": "x"}'),
        ToolCall("2", "bank_pay", '{"amount": 1}'),
    ]
    wrong, failed = tools.run_sync(calls)
    assert wrong.text.startswith("The arguments of bank_pay are invalid")
    assert wrong.text.endswith("Correct this and call bank_pay again.")
    assert failed.name == "bank_pay"


def test_the_same_function_twice_is_told_as_that() -> None:
    def once(n: int) -> int:
        """Once."""
        return n

    with pytest.raises(DuplicateToolError, match="'once' is listed twice; list it once"):
        Toolset([once, once])
    made = tool(once)
    with pytest.raises(DuplicateToolError, match="'once' is listed twice"):
        Toolset([made, made])
