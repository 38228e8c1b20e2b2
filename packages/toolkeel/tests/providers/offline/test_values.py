"""Values found in prompts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.providers.offline.values import find_values


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("weather in Paris and New York", [("place", "Paris"), ("name", "New York")]),
        ("weather in paris", [("place", "Paris")]),
        ("What's the weather in São Paulo?", [("name", "São Paulo")]),
        ("Show Bob's order", [("name", "Bob")]),
        ("北京和苏州", [("place", "北京"), ("place", "苏州")]),
        ("把“你好”翻译成英文", [("quoted", "你好"), ("language", "英文")]),
        ("read src/main.py, .env and Makefile", [("path", "src/main.py"), ("path", ".env"), ("path", "Makefile")]),
        ("请读取数据.csv", [("path", "数据.csv")]),
        ("文件a.txt", [("path", "a.txt")]),
        ("read ../y and /etc/passwd", [("path", "../y"), ("path", "/etc/passwd")]),
        ("find *.py files", [("glob", "*.py")]),
        ("fetch https://example.com/a?b=c.", [("url", "https://example.com/a?b=c")]),
        ("write to bob@x.org", [("email", "bob@x.org")]),
        ("on 2025-5-1 or 2024年3月15日", [("date", "2025-05-01"), ("date", "2024-03-15")]),
        ("at 5:30 pm", [("time", "5:30 pm")]),
        ("time in Asia/Tokyo", [("zone", "Asia/Tokyo")]),
        ("price of AAPL", [("symbol", "AAPL")]),
        ("order ORD-123", [("code", "ORD-123")]),
        ("three files and 1,200 lines and -0.5", [("number", 3), ("number", 1200), ("number", -0.5)]),
        ("前3条", [("number", 3)]),
        ("三条", [("number", 3)]),
        ("5km", [("number", 5)]),
        ("2 * 3", [("expression", "2 * 3"), ("number", 2), ("number", 3)]),
        ("1 + 2 + 3", [("expression", "1 + 2 + 3"), ("term", 1), ("term", 2), ("term", 3)]),
        ("hello there, what is the time", []),
        ("and/or km/h", []),
    ],
)  # fmt: skip
def test_each_value_is_found_with_its_kind(prompt: str, expected: list[object]) -> None:
    assert [(value.kind, value.value) for value in find_values(prompt)] == expected


@given(st.text(max_size=80))
def test_values_of_any_text_lie_inside_it(prompt: str) -> None:
    for value in find_values(prompt):
        assert 0 <= value.start < value.end <= len(prompt)


@given(st.integers(0, 10**12))
def test_a_number_is_found_as_it_was_written(number: int) -> None:
    for prompt in (f"take {number} of them", f"take {number:,} of them"):
        assert [value.value for value in find_values(prompt)] == [number]
