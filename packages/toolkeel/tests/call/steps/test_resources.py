"""What a call touches: resources with their arguments put in, as places in trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from toolkeel import Effects, Injected, ToolCall, tool
from toolkeel.call.arguments.validate import prepare
from toolkeel.call.steps.resources import branch_of, branches_of, is_within, overlaps, resource_keys
from toolkeel.effects import Resource


@pytest.mark.parametrize(
    ("resources", "arguments", "keys"),
    [
        ((), {}, ()),
        (("all",), {}, ("all",)),
        (("file:{path}",), {"path": "甲"}, ("file:甲",)),
        (("file:{path}", "db"), {"path": "a"}, ("db", "file:a")),
        (("{path}{n}",), {"path": "a", "n": 5}, ("a5",)),
        (("at:{x}",), {"x": 5}, ("at:5",)),
        (("at:{x}",), {"x": 5.5}, ("at:5.5",)),
        (("file:{path}",), {}, ("file:default",)),
        (("{flag}", "{flag}"), {"flag": True}, ("true",)),
        (("{when}",), {}, ("{when}",)),
        (("{path.__class__}", "{}", "{0}"), {"path": "a"}, ("{0}", "{path.__class__}", "{}")),
        (("x:{renamed}", "y:{asSent}"), {"asSent": "v"}, ("x:v", "y:v")),
        (("{who}",), {}, ("{who}",)),
    ],
)
def test_keys_are_the_resources_with_their_arguments_put_in(
    resources: tuple[str, ...], arguments: Mapping[str, object], keys: tuple[str, ...]
) -> None:
    @tool(effects=Effects(resources=resources), unknown_keys="allow")
    def touch(
        who: Annotated[str, Injected] = "",
        path: str = "default",
        n: int = 1,
        x: float = 0,
        flag: bool = False,
        when: str | None = None,
        renamed: Annotated[str, Field(alias="asSent")] = "",
        **more: int,
    ) -> None:
        """Touch."""

    prepared = prepare(ToolCall("1", "touch", arguments), touch)
    assert resource_keys(prepared) == keys


PATHS = st.text(st.sampled_from("ab./:"), max_size=8)


@given(PATHS, PATHS)
def test_what_lies_below_a_resource_overlaps_with_it_and_nothing_else_does(
    one: str, two: str
) -> None:
    branch, other = branch_of(f"file:{one}"), branch_of(f"file:{two}")
    assert is_within(branch_of(f"file:{one}/b"), branch) or one.endswith("..")
    assert overlaps(branch, other) == overlaps(other, branch)
    assert overlaps(branch, other) == (all(x == y for x, y in zip(branch, other, strict=False)))
    assert not overlaps(branch, branch_of(f"db:{two}"))


@given(st.lists(PATHS, max_size=6))
def test_the_branches_of_several_resources_cover_them_all_without_overlapping(
    paths: list[str],
) -> None:
    kept = branches_of(paths)
    assert all(any(is_within(branch_of(path), each) for each in kept) for path in paths)
    assert not any(overlaps(a, b) for a in kept for b in kept if a is not b)


def test_a_resource_may_say_its_key_by_itself() -> None:
    class Half(Resource):
        def key(self, arguments: Mapping[str, object]) -> str:
            return f"half:{int(str(arguments['n'])) // 2}"

    @tool(effects=Effects(resources=(Half("half:{n}"),)))
    def touch(n: int) -> None:
        """Touch."""

    assert resource_keys(prepare(ToolCall("1", "touch", {"n": 5}), touch)) == ("half:2",)
