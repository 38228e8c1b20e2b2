"""What tools write to state, and artifacts, come back with their types on every route."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import enum
import json
import subprocess
import sys
import threading
import uuid
from collections import Counter, OrderedDict, deque
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, PrivateAttr, SecretStr

from toolkeel import Agent, ToolContext, tool
from toolkeel._records.typed_values import (
    RunValues,
    UnknownValue,
    UnsavedValue,
    copy_state,
    dump_value,
    load_value,
)
from toolkeel.messages import ToolMessage
from toolkeel.runs import RunState
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call


class Size(enum.Enum):
    SMALL = "s"


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Item(BaseModel):
    name: str
    prices: list[Decimal] = []
    parts: list[Item] = []
    _seen: set[int] = PrivateAttr(default_factory=set)


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    id: uuid.UUID
    at: datetime.datetime
    tags: frozenset[str] = frozenset()
    total: int = dataclasses.field(default=0, init=False, compare=False)


class Point(NamedTuple):
    x: object
    y: object


class Sealed(BaseModel):
    token: SecretStr


NOW = datetime.datetime(2026, 3, 4, 5, 6, 7, 8)
LEAVES: list[Any] = [
    None, True, 1, 1.5, float("inf"), "text", "\ud800", b"\x00\xff", bytearray(b"a"), 1j,
    NOW, NOW.replace(tzinfo=datetime.UTC), NOW.replace(tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
    NOW.date(), NOW.time(), datetime.timedelta(-1, 2, 3), Decimal("1.10"), Fraction(1, 3),
    uuid.UUID(int=5), Path("/tmp"), Size.SMALL, Right.READ | Right.WRITE, Right.READ,
]  # fmt: skip
VALUES: list[Any] = [
    *LEAVES, (1, (2,)), {1, 2}, frozenset({"a"}), {1: "a", (1, 2): "b"}, deque([1], 3),
    OrderedDict(b=1, a=2), Counter("aab"), {"$toolkeel": "set", "$$toolkeel": 1, "a": {2}},
    Item(name="a", prices=[Decimal("2.50")], parts=[Item(name="b")]), [Item(name="a")],
    Order(uuid.UUID(int=1), NOW, frozenset({"x"})), Point({1}, [Size.SMALL]),
]  # fmt: skip
NESTED = st.recursive(
    st.sampled_from(LEAVES) | st.text(max_size=3) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(
            st.text(max_size=2) | st.integers() | st.just("$toolkeel"), inner, max_size=3
        )
        | st.builds(Point, inner, inner)
    ),
    max_leaves=6,
)


def typed(value: object) -> str:
    """Return a text that shows a value with the types of its parts."""
    return repr(sorted(value.items()) if isinstance(value, dict) and "v0" in value else value)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_comes_back_equal_and_of_its_type(value: Any) -> None:
    back = load_value(json.loads(json.dumps(dump_value(value))))
    assert type(back) is type(value) and back == value and typed(back) == typed(value)


@given(NESTED)
def test_values_within_values_come_back_as_they_were(value: Any) -> None:
    back = load_value(json.loads(json.dumps(dump_value(value))))
    assert back == value and typed(back) == typed(value)


def test_a_number_that_python_does_not_write_comes_back() -> None:
    for number in (10**5000, -(10**5000)):
        assert load_value(json.loads(json.dumps(dump_value([number])))) == [number]


def test_a_model_comes_back_with_what_was_set_and_what_is_private() -> None:
    item = Item(name="a")
    item._seen.add(3)
    back = load_value(dump_value(item))
    assert back._seen == {3} and back.model_fields_set == {"name"}


class Text(str):
    __slots__ = ()


def local() -> object:
    @dataclasses.dataclass
    class Here:
        x: int = 1

    return Here()


def deep() -> object:
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [
        object(),
        threading.Lock(),
        print,
        Text("a"),
        local(),
        deep(),
        Sealed(token=SecretStr("abc")),
        int,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_would_not_come_back_is_refused_with_its_place(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^cart\[1\]"):
        dump_value({"cart": [1, value]})


@given(NESTED)
def test_hostile_json_is_read_without_an_error(value: Any) -> None:
    for kind in ("set", "model", "dataclass", "enum", "int", "no such", ["a"]):
        load_value({"$toolkeel": kind, "type": "os:system", "value": dump_value(value)})


def test_a_value_of_a_class_that_is_not_here_is_named_and_written_again_unchanged() -> None:
    data = {"$toolkeel": "dataclass", "type": "shop.orders:Order", "value": {"id": 1}}
    value = load_value(data)
    assert value == UnknownValue("shop.orders:Order", data)
    assert dump_value([value]) == [data]


def test_a_stored_model_that_its_class_no_longer_accepts_is_not_made() -> None:
    data = dump_value(Item(name="a"))
    data["value"]["__dict__"]["name"] = 5
    assert isinstance(load_value(data), UnknownValue)


def test_a_copy_of_the_state_shares_nothing_and_names_what_is_left() -> None:
    state = {"list": [1, (2,)], "open": {"a": [object()]}, 1: "x"}
    saved, left = copy_state(state)  # type: ignore[arg-type]
    assert saved == {"list": [1, (2,)]} and saved["list"] is not state["list"]
    assert left == ("open.a[0]", "1")


def test_every_way_to_write_a_run_s_state_refuses_what_cannot_be_saved() -> None:
    state = RunValues(kept=1)
    for write in (
        lambda: state.__setitem__("a", print),
        lambda: state.update(a=print),
        lambda: state.setdefault("a", print),
        lambda: state.__ior__({"a": print}),
        lambda: state.__setitem__(1, "a"),  # type: ignore[call-overload]
    ):
        with pytest.raises(TypeError, match="cannot be saved with the run"):
            write()
    assert state == {"kept": 1} and state.setdefault("kept", 2) == 1


# — on every route —


@tool
def put(index: int, context: ToolContext) -> str:
    """Put a value into the state."""
    context.state[f"v{index}"] = load_value(dump_value(VALUES[index]))
    return "done"


CALLS = [call("put", {"index": index}) for index in range(len(VALUES))]
WHOLE = {f"v{index}": value for index, value in enumerate(VALUES)}


def test_state_is_typed_in_a_session_an_import_and_the_next_run(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "s.db")
    found: list[dict[str, object]] = []

    @tool
    def look(context: ToolContext) -> str:
        """Look."""
        found.append(dict(context.state))
        return "seen"

    agent = Agent(Scripted([CALLS, "a", [call("look")], "b"]), [put, look])
    agent.run_sync("go", session=sessions["ada"])
    agent.run_sync("go", session=sessions["ada"])
    copy = sessions.import_(list(sessions.export("ada")), "copy")
    for state in (*found, sessions["ada"].state, copy.state):
        assert state == WHOLE and typed(state) == typed(WHOLE)
    sessions.close()


def test_state_is_typed_in_a_saved_run_and_in_a_stream() -> None:
    agent = Agent(Scripted([CALLS, "a"] * 2), [put])
    result = agent.run_sync("go")

    async def stream() -> RunState:
        run = agent.start("go")
        async for _ in run:
            pass
        return run.state

    for state in (result.state, asyncio.run(stream())):
        assert RunState.from_json(state.to_json()).values == WHOLE and state.omitted_values == ()


def test_state_of_a_waiting_inner_run_is_typed(tmp_path: Path) -> None:
    states: list[dict[str, object]] = []

    @tool(approval=True)
    def pay(context: ToolContext) -> str:
        """Pay."""
        states.append(dict(context.state))
        return "paid"

    def clerk() -> Agent[Any, Any]:
        return Agent(Scripted([[CALLS[-1]], [call("pay")], "inner"]), [put, pay], name="clerk")

    ask = [call("clerk", {"input": "go"})]
    for session in (None, Sessions(tmp_path / "s.db")["ada"]):
        inner = clerk()
        agent = Agent(Scripted([ask, "done"]), [inner.as_tool()])
        first = agent.run_sync("go", session=session)
        prompt = None if session else RunState.from_json(first.state.to_json())
        done = agent.run_sync(prompt, session=session, decisions=[first.pending[0].approve()])
        assert done.reason == "answered"
    assert states == [{f"v{len(VALUES) - 1}": VALUES[-1]}] * 2


@tool
def spoil(how: str, context: ToolContext) -> str:
    """Write what cannot be saved."""
    if how == "update":
        context.update("lock", lambda _: threading.Lock())
    elif how == "assign":
        context.state["lock"] = threading.Lock()
    else:
        context.state["list"].append(threading.Lock())  # type: ignore[attr-defined]
    return "done"


@tool
def fine(context: ToolContext) -> str:
    """Write what can be saved."""
    context.state["list"] = [1]
    return "done"


@pytest.mark.parametrize("how", ["update", "assign", "within"])
def test_a_write_that_cannot_be_saved_is_a_failed_call_and_the_run_goes_on(how: str) -> None:
    session = Sessions(":memory:")["ada"]
    agent = Agent(Scripted([[call("fine")], [call("spoil", {"how": how})], "done"]), [fine, spoil])
    result = agent.run_sync("go", session=session)
    kinds = [m.kind for m in result.messages if isinstance(m, ToolMessage)]
    assert kinds == [None, "crashed"] and result.reason == "answered"
    assert session.state == {"list": [1]} == result.state.values
    if how != "within":
        assert agent.model is not None
        alone = Agent(Scripted([[call("spoil", {"how": how})], "done"]), [spoil]).run_sync("go")
        assert [m.kind for m in alone.messages if isinstance(m, ToolMessage)] == ["crashed"]


def test_what_the_caller_gives_may_be_unsavable_and_fails_no_call() -> None:
    session, lock = Sessions(":memory:")["ada"], threading.Lock()
    agent = Agent(Scripted([[call("fine")], "done"]), [fine])
    result = agent.run_sync("go", session=session, state={"lock": lock})
    assert [m.kind for m in result.messages if isinstance(m, ToolMessage)] == [None]
    assert session.state == {"list": [1]} and result.state.omitted_values == ("lock",)


@tool(returns="content_and_artifact")
def made(index: int) -> tuple[str, object]:
    """Make an artifact."""
    return "made", [*VALUES, threading.Lock()][index]


def test_an_artifact_is_typed_and_one_that_cannot_be_saved_says_so() -> None:
    session = Sessions(":memory:")["ada"]
    calls = [call("made", {"index": index}) for index in range(len(VALUES) + 1)]
    result = Agent(Scripted([calls, "done"]), [made]).run_sync("go", session=session)
    saved = RunState.from_json(result.state.to_json()).messages
    for messages in (session.messages, saved):
        artifacts = [m.artifact for m in messages if isinstance(m, ToolMessage)]
        assert artifacts[:-1] == VALUES
        assert artifacts[-1] == UnsavedValue("_thread.lock")


def test_another_process_reads_what_its_classes_are_not_imported_for(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "s.db")
    last = [call("put", {"index": len(VALUES) - 2})]
    Agent(Scripted([last, "a"]), [put]).run_sync("go", session=sessions["ada"])
    sessions.close()
    code = (
        "import sys; from toolkeel.sessions import Sessions; "
        "[value] = Sessions(sys.argv[1])['ada'].state.values(); print(type(value).__name__, value.type)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "s.db")],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert ran.stdout.split() == ["UnknownValue", f"{Order.__module__}:Order"]
