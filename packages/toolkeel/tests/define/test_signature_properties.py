"""Any signature Python allows becomes a tool that every advertised call reaches, value by value."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import inspect
import keyword
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, TypedDict

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from tests.define.calling import answered
from tests.define.schema_cases import is_valid
from toolkeel import Injected, RunContext, Tool, ToolContext, tool

P = inspect.Parameter
EMPTY = P.empty


class Colour(enum.Enum):
    RED = "red"
    CAT = "猫"


class Point(BaseModel):
    x: int
    y: int = 0


class Row(TypedDict):
    key: str


def same(sent: Any) -> Any:
    return sent


@dataclass(frozen=True)
class Kind:
    """One annotation with JSON values for it and what becomes of them."""

    annotation: Any
    values: st.SearchStrategy[Any]
    made: Callable[[Any], Any] = same


texts = st.text(max_size=5)
KINDS = [
    Kind(int, st.integers()),
    Kind(float, st.floats(allow_nan=False, allow_infinity=False)),
    Kind(bool, st.booleans()),
    Kind(str, texts),
    Kind(int | None, st.none() | st.integers()),
    Kind(Any, st.none() | st.lists(texts, max_size=2)),
    Kind(Literal["左", 1], st.sampled_from(["左", 1])),
    Kind(Colour, st.sampled_from(["red", "猫"]), Colour),
    Kind(list[int], st.lists(st.integers(), max_size=3)),
    Kind(set[int], st.sets(st.integers(), max_size=3).map(list), set),
    Kind(tuple[int, str], st.tuples(st.integers(), texts).map(list), tuple),
    Kind(dict[str, int], st.dictionaries(texts, st.integers(), max_size=2)),
    Kind(Point, st.fixed_dictionaries({"x": st.integers()}), lambda sent: Point(**sent)),
    Kind(list[Row], st.lists(st.fixed_dictionaries({"key": texts}), max_size=2)),
    Kind(dt.date, st.dates().map(str), dt.date.fromisoformat),
    Kind(Decimal, st.decimals(allow_nan=False, allow_infinity=False).map(str), Decimal),
    Kind(bytes, texts, str.encode),
    Kind(Annotated[int, Field(ge=0, le=9)], st.integers(0, 9)),
    Kind(Annotated[str, "text", Field(min_length=1)], st.text(min_size=1, max_size=3)),
]

ODD = [
    "self",
    "cls",
    "args",
    "kwargs",
    "class_",
    "schema",
    "json",
    "model_config",
    "validate",
    "copy",
    "_x",
    "__y",
    "参数",
    "type",
    "tool",
]
names = st.sampled_from(ODD) | st.text(
    st.characters(categories=["L", "Nd", "Pc"]), min_size=1, max_size=6
).filter(
    lambda n: (
        n.isidentifier()
        and not keyword.iskeyword(n)
        and n not in ("__debug__", "unknown_key")
        and unicodedata.normalize("NFKC", n) == n  # as Python reads a name
    )
)


@dataclass
class Given:
    """One parameter, and what a call does with it.

    Args:
        sends: Whether the call sends a value.
        sent: The JSON value it sends.
        alias: The key it is advertised under.
        by: ``model``, ``inject``, ``type`` or ``partial``: who fills it.
    """

    name: str
    shape: Any
    kind: Kind
    default: Any
    sends: bool
    sent: Any
    alias: str
    by: str

    @property
    def annotation(self) -> Any:
        if self.by == "inject":
            return Annotated[object, Injected]
        if self.by == "type":
            return ToolContext[Any]
        inner = self.kind.annotation
        return inner if self.alias == self.name else Annotated[inner, Field(alias=self.alias)]

    @property
    def received(self) -> Any:
        """What the body has to see; the context is shown by its type."""
        if self.by == "model":
            return self.kind.made(self.sent) if self.sends else self.default
        return {"inject": f"injected {self.name}", "type": ToolContext, "partial": "bound"}[self.by]


SHAPES = [P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD, P.KEYWORD_ONLY]


@st.composite
def parameters(draw: st.DrawFn) -> list[Given]:
    """Parameters in an order Python allows."""
    wanted = draw(st.lists(names, unique=True, max_size=6))
    shapes = sorted(
        draw(st.lists(st.sampled_from(SHAPES), min_size=len(wanted), max_size=len(wanted)))
    )
    made: list[Given] = []
    must_default = False
    for name, shape in zip(wanted, shapes, strict=True):
        kind = draw(st.sampled_from(KINDS))
        who = ["model"] * 4 + ["inject", "type"] + ["partial"] * (shape is P.KEYWORD_ONLY)
        by = draw(st.sampled_from(who))
        has_default = draw(st.booleans()) or (must_default and shape is not P.KEYWORD_ONLY)
        must_default = must_default or (has_default and shape is not P.KEYWORD_ONLY)
        default = kind.made(draw(kind.values)) if has_default else EMPTY
        alias = f"{name} as sent" if draw(st.integers(0, 5)) == 0 else name
        sends = by == "model" and (not has_default or draw(st.booleans()))
        made.append(Given(name, shape, kind, default, sends, draw(kind.values), alias, by))
    return made


def build(
    many: list[Given], rest: tuple[str | None, str | None], style: str
) -> tuple[Tool[..., Any], list[dict[str, Any]]]:
    """The function of these parameters as a tool, and what its body receives."""
    seen: list[dict[str, Any]] = []
    scope: dict[str, Any] = {"_note_": seen.append}
    head: list[str] = []
    for index, each in enumerate(many):
        if index and each.shape is not P.POSITIONAL_ONLY is many[index - 1].shape:
            head.append("/")
        if each.shape is P.KEYWORD_ONLY and not any(h.startswith("*") for h in head):
            head.append(f"*{rest[0]}: int" if rest[0] else "*")
        scope[f"_default_{index}_"] = each.default
        head.append(each.name + (f" = _default_{index}_" if each.default is not EMPTY else ""))
    if many and many[-1].shape is P.POSITIONAL_ONLY:
        head.append("/")
    if rest[0] and not any(h.startswith("*") for h in head):
        head.append(f"*{rest[0]}: int")
    if rest[1]:
        head.append(f"**{rest[1]}: int")
    kind = "async def" if style == "async" else "def"
    exec(f"{kind} body({', '.join(head)}):\n    _note_(dict(locals()))\n    return 'ran'", scope)
    function = scope["body"]
    function.__annotations__.update({each.name: each.annotation for each in many})
    bound = {each.name: "bound" for each in many if each.by == "partial"}
    if bound:
        function = functools.partial(function, **bound)
    return tool(description="Do it.", inline=style == "inline")(function), seen


signatures = st.tuples(
    parameters(),
    st.sampled_from([None, "_more_"]),
    st.sampled_from([None, "_others_"]),
    st.sampled_from(["sync", "inline", "async"]),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.sampled_from(["k1", "猫", "_others_", "k 2"]), st.integers(), max_size=3),
    st.randoms(use_true_random=False),
)


def host(many: list[Given]) -> RunContext[Any]:
    """A run that fills what is injected by name."""
    return RunContext(inject={each.name: f"injected {each.name}" for each in many})


@given(signatures)
def test_every_advertised_call_reaches_the_body_with_exactly_its_values(case: Any) -> None:
    many, args, rest, style, more, others, random = case
    made, seen = build(many, (args, rest), style)
    models = [each for each in many if each.by == "model"]
    shown: Any = made.parameters

    positional = [each.alias for each in models if each.shape is not P.KEYWORD_ONLY]
    keywords = [each.alias for each in models if each.shape is P.KEYWORD_ONLY]
    assert list(shown["properties"]) == [*positional, *([args] if args else []), *keywords]
    needed = [each.alias for each in models if each.default is EMPTY]
    assert shown.get("required", []) == needed

    sent = {each.alias: each.sent for each in models if each.sends}
    expected = {each.name: each.received for each in many}
    if args:
        expected[args] = ()
        if more:
            sent[args] = more
            expected[args] = tuple(more)
    if rest:
        sent.update(others)
        expected[rest] = others
    keys = list(sent)
    random.shuffle(keys)
    sent = {key: sent[key] for key in keys}

    assert is_valid(shown, sent)
    result = answered(made, sent, host(many))
    assert result.kind is None, result.text
    [received] = seen
    received = {k: type(v) if isinstance(v, ToolContext) else v for k, v in received.items()}
    assert received == expected
    assert {k: type(v) for k, v in received.items()} == {k: type(v) for k, v in expected.items()}


@given(signatures)
def test_nothing_that_is_not_advertised_reaches_the_body(case: Any) -> None:
    many, args, rest, style, *_ = case
    made, seen = build(many, (args, rest), style)
    sent = {each.alias: each.sent for each in many if each.by == "model"}
    refused = [
        {**sent, each.name: 1}
        for each in many
        if not rest and (each.by != "model" or each.alias != each.name)
    ]
    refused += [
        {key: value for key, value in sent.items() if key != each.alias}
        for each in many
        if each.by == "model" and each.default is EMPTY
    ]
    if not rest:
        refused.append({**sent, "unknown_key": 1})
    for wrong in refused:
        assert rest or not is_valid(made.parameters, wrong)
        assert answered(made, wrong, host(many)).kind == "invalid_arguments"
    assert seen == []
