"""Calls corrected by what their errors say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers import toolkit as kit
from tests.providers.toolkit import definition
from toolkeel import Toolset
from toolkeel.messages import ToolCall
from toolkeel.providers.offline.correct_call import correct_call, suggestions

TEXT = definition("t", "", value={"type": "string"})


@pytest.mark.parametrize(
    ("value", "error", "better"),
    [
        ("Pariss", "No city called 'Pariss' was found. Did you mean Paris?", "Paris"),
        ("Tokyo", "There is no time zone 'Tokyo'. Did you mean Asia/Tokyo?", "Asia/Tokyo"),
        ("北京", "There is no time zone '北京'. Did you mean Asia/Shanghai?", "Asia/Shanghai"),
        ("readme.md", "'readme.md' does not exist. Did you mean 'README.md' or 'LICENSE'?", "README.md"),
        ("Springfeild", "Not found. Nearest names: Springdale, Springfield", "Springfield"),
        ("2^10", "^ is not a power here. Use ** for powers: 2**10.", "2**10"),
        ("北平", "找不到“北平”。是不是“北京”？", "北京"),
    ],
)  # fmt: skip
def test_the_nearest_value_the_error_offers_is_taken(value: str, error: str, better: str) -> None:
    assert correct_call(TEXT, {"value": value}, error) == {"value": better}


@pytest.mark.parametrize(
    "error",
    ["Division by zero.", "The service cannot be reached.", "No city 'x' was found. Check the spelling.", ""],
)  # fmt: skip
def test_an_error_that_offers_nothing_changes_nothing(error: str) -> None:
    assert correct_call(TEXT, {"value": "x"}, error) is None


def test_an_option_is_replaced_by_the_nearest_one() -> None:
    call = ToolCall("1", "get_weather", {"city": "Rome", "unit": "Celcius"})
    [result] = Toolset([kit.get_weather]).run_sync([call])
    better = correct_call(kit.get_weather, {"city": "Rome", "unit": "Celcius"}, result.text)
    assert better == {"city": "Rome", "unit": "celsius"}


def test_suggestions_are_read_without_quotes_and_joining_words() -> None:
    assert suggestions("Did you mean 'a b', \"c\" or d?") == ["a b", "c", "d"]


@given(
    st.text(max_size=200), st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3)
)
def test_any_error_text_is_read_without_a_crash(error: str, arguments: dict[str, object]) -> None:
    better = correct_call(TEXT, arguments, error)
    assert better is None or better != arguments
