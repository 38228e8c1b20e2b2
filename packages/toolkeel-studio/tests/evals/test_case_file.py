"""Files of cases in three formats, with the types of JSON and without keys that occur twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_studio.evals.case_file import read_cases, read_yaml
from toolkeel_studio.evals.cases import CaseError
from toolkeel_studio.evals.matchers import matches

YAML = """
- question: 東京?
  calls: [{tool: weather, arguments: {city: 東京, on: no, at: 12:30, day: 2026-11-28, n: 0o7}}]
"""


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, "utf-8")
    return str(folder / name)


def test_yaml_has_the_types_of_json_alone(tmp_path: Path) -> None:
    [case] = read_cases(write(tmp_path, "c.yaml", YAML))
    assert case.question == "東京?"
    assert case.calls[0].arguments == {
        "city": "東京", "on": "no", "at": "12:30", "day": "2026-11-28", "n": "0o7",
    }  # fmt: skip


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.from_regex("[a-z]{1,4}", fullmatch=True), inner)
        ),
        max_leaves=6,
    )
)
def test_json_is_read_alike_as_yaml(value: object) -> None:
    assert read_yaml(json.dumps(value), "c.yaml") == value


def test_json_and_python_hold_the_same_cases(tmp_path: Path) -> None:
    data: list[Any] = [{"question": "猫?", "calls": [{"tool": "f", "arguments": {"a": 1}}]}]
    from_json = read_cases(write(tmp_path, "c.json", json.dumps(data, ensure_ascii=False)))
    source = f"cases = {data!r}\nmore = [dict(question='x', calls='none')]\n"
    assert read_cases(write(tmp_path, "c.py", source)) == from_json
    assert read_cases(write(tmp_path, "c.py", source) + ":more")[0].question == "x"


def test_a_function_of_a_python_file_is_a_matcher(tmp_path: Path) -> None:
    source = "cases = [dict(question='x', calls=[dict(tool='f', arguments=dict(a=str.isupper))])]"
    [case] = read_cases(write(tmp_path, "checks.py", source))
    assert matches(case.calls[0].arguments["a"], "A")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("c.yaml", "- question: a\n  question: b\n", "line 2: the key 'question' occurs twice"),
        ("c.json", '[{"question": "a", "question": "b"}]', "the key 'question' occurs twice"),
        ("c.yaml", "- question: [", "c.yaml: no YAML: "),
        ("c.json", "[", "c.json: no JSON: "),
        ("c.toml", "", "ends in .yaml, .json or .py"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    with pytest.raises(CaseError) as failed:
        read_cases(write(tmp_path, name, text))
    assert told in str(failed.value) and name in str(failed.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"nothing\.yaml: cannot be read: No such file"):
        read_cases(str(tmp_path / "nothing.yaml"))
