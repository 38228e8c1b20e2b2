"""What is stored of a run: options as JSON, and no text that cannot be stored."""

from __future__ import annotations

import pytest

from toolkeel.errors import SetupError
from toolkeel.spending import Price, RunLimits
from toolkeel_studio.durable.orders import RunOrder, check_text, dump_options, load_options


def order(**options: object) -> RunOrder:
    base = RunOrder(id="1", session="s", scope="", prompt="", since=0)
    return {**base, "options": options}  # type: ignore[typeddict-item]


def test_options_of_a_run_arrive_as_they_were_given() -> None:
    limits = RunLimits(requests=3, calls={"pay": 1}, prices={"m": Price(1.0, 2.0)})
    made = dump_options({"user": "猫"}, "openai:x", limits)
    assert load_options(order(**made)) == {
        "deps": {"user": "猫"},
        "model": "openai:x",
        "limits": limits,
    }
    assert load_options(RunOrder(id="1", session="s", scope="", prompt="", since=0)) == {}


@pytest.mark.parametrize("deps", [object(), {"a": {1, 2}}, {1: 2}, float("nan"), (1, 2)])
def test_deps_that_are_not_json_are_refused_with_what_to_give(deps: object) -> None:
    with pytest.raises(SetupError, match=r"start\(deps=...\).*must be JSON"):
        dump_options(deps, None, None)


@pytest.mark.parametrize("text", ["a\ud83d", "\udc00"])
def test_half_of_a_surrogate_pair_is_reported_with_its_place(text: str) -> None:
    with pytest.raises(SetupError, match=f"prompt= has half.*character {len(text) - 1}"):
        check_text(prompt=text)
    with pytest.raises(SetupError, match="deps="):
        dump_options({"a": text}, None, None)
    check_text(prompt="😀", session=None)
