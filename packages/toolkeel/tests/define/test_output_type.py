"""Types as forms of an answer."""

from __future__ import annotations

import typing
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import BaseModel, Field

from toolkeel.define.output_type import (
    ACCEPTED,
    OutputTool,
    compile_output_form,
    is_output_tool,
    split_output_type,
)
from toolkeel.errors import CallError, DefinitionError, InvalidArguments


class Pair(NamedTuple):
    a: int
    b: str


class Inner(BaseModel):
    n: int


class Outer(BaseModel):
    """What is told."""

    inner: Inner
    note: Annotated[str, Field(alias="Note")] = ""


def properties(form: Any) -> dict[str, Any]:
    found: dict[str, Any] = form.tool.parameters["properties"]
    return found


def test_an_object_is_its_own_arguments_and_anything_else_stands_under_a_key() -> None:
    assert set(properties(compile_output_form(Outer))) == {"inner", "Note"}
    assert (
        not compile_output_form(dict[str, int]).wrapped and not compile_output_form(Outer).wrapped
    )
    assert not compile_output_form(Pair).wrapped
    wrapped: list[Any] = [int, list[Outer], Outer | None, Outer | Inner, tuple[int, int]]
    for each in wrapped:
        form = compile_output_form(each)
        assert form.wrapped and list(properties(form)) == ["result"]


def test_the_docstring_of_the_type_is_told_and_that_of_a_library_is_not() -> None:
    assert compile_output_form(Outer).tool.description.endswith("What is told.")
    assert compile_output_form(Inner).tool.description == "Give the final answer, and end with it."


def test_an_alias_is_what_the_model_says() -> None:
    given = compile_output_form(Outer).tool.invoke({"inner": {"n": 1}, "Note": "x"})
    assert given.artifact == Outer(inner=Inner(n=1), Note="x") and given.content == ACCEPTED


def test_unknown_keys_are_refused_at_every_depth() -> None:
    with pytest.raises(InvalidArguments, match="inner"):
        compile_output_form(Outer).tool.invoke({"inner": {"n": 1, "m": 2}})


def test_repeated_keys_are_seen() -> None:
    with pytest.raises(CallError, match="repeated"):
        compile_output_form(Inner).tool.invoke('{"n": 1, "n": 2}')


def test_what_has_no_json_form_is_named() -> None:
    class Odd:
        pass

    with pytest.raises(DefinitionError, match="Odd"):
        compile_output_form(Odd)


class Old(typing.TypedDict):
    """One that pydantic cannot read by itself before Python 3.12."""

    n: int


def test_a_typed_dict_of_the_standard_library_will_do_alone_and_within() -> None:
    assert compile_output_form(Old).tool.invoke({"n": 1}).artifact == {"n": 1}
    assert compile_output_form(list[Old]).tool.invoke({"result": [{"n": 1}]}).artifact == [{"n": 1}]


def test_a_type_without_a_json_form_is_named_whole() -> None:
    wrong: Any = list[typing.Callable[[], int]]
    with pytest.raises(DefinitionError, match=r"output_type=list\[.*Callable"):
        compile_output_form(wrong)


@pytest.mark.parametrize("several", [[int, str], (int, str)])
def test_several_types_in_a_list_are_refused_with_the_union_to_write(several: object) -> None:
    with pytest.raises(DefinitionError, match=r"write output_type=int \| str$"):
        compile_output_form(several)  # type: ignore[arg-type]


class Unfinished(BaseModel):
    other: Later  # type: ignore[name-defined]  # noqa: F821


class UnfinishedDict(typing.TypedDict):
    other: Later  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize("kind", [Unfinished, UnfinishedDict, list[Unfinished]], ids=str)
def test_a_type_that_needs_a_class_not_defined_yet_names_that_class(kind: Any) -> None:
    with pytest.raises(DefinitionError, match="it uses 'Later', which is not defined yet; import"):
        compile_output_form(kind)


def test_a_type_may_name_and_describe_its_tool_and_word_the_result() -> None:
    named = OutputTool("Answer", "Answer me.", lambda answer: f"given: {answer.n}")
    form = compile_output_form(Annotated[Inner, named], "Answer_2")
    assert (form.tool.name, form.tool.description) == ("Answer_2", "Answer me.")
    given = form.tool.invoke({"n": 1})
    assert (given.content, given.artifact) == ("given: 1", Inner(n=1))
    assert is_output_tool(form.tool) and not is_output_tool(object())


def test_no_mark_of_the_making_of_a_schema_is_advertised() -> None:
    class Graded(BaseModel):
        grade: Annotated[typing.Literal["a", "b"], Field(description="How good.")]

    for form in (compile_output_form(Graded), compile_output_form(list[Graded])):
        assert "x-closed" not in str(form.tool.parameters)


def test_a_union_is_split_only_if_each_member_names_a_tool() -> None:
    named = Annotated[Inner, OutputTool("inner")]
    split: Any = named | Annotated[Pair, OutputTool("pair")] | str
    assert [getattr(one, "__name__", one) for one in split_output_type(split)][-1] == "str"
    assert len(split_output_type(split)) == 3
    for whole in (Inner | Pair, named | Pair, named, str | int, list[named]):  # type: ignore[valid-type]
        assert split_output_type(whole) == (whole,)


def test_the_key_of_a_value_may_be_named() -> None:
    form = compile_output_form(Annotated[list[int], OutputTool(key="response")])
    assert list(properties(form)) == ["response"] and form.partial_value({"response": [1]}) == [1]
    assert form.tool.invoke({"response": [1]}).artifact == [1]
    assert list(form.candidate_arguments("[1]"))[1] == '{"response": [1]}'
