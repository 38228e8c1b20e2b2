"""The tree of errors: who is told what, and that the tree drawn on top is the tree there is."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import errors
from toolkeel.errors import (
    CallError,
    FieldError,
    InvalidArguments,
    Kind,
    MissingExtraError,
    ModelError,
    SetupError,
    ToolError,
)


def _drawn() -> dict[str, str]:
    """Each name of the drawing with the name above it."""
    parents: dict[str, str] = {}
    trail: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^    ([│ ]*)(?:[├└]── )?([A-Z]\w+)", line)
        if found:
            depth, name = line.index(found[2]), found[2]
            trail = [(at, above) for at, above in trail if at < depth]
            if trail:
                parents[name] = trail[-1][1]
            trail.append((depth, name))
    return parents


def test_the_tree_drawn_on_top_is_the_tree_of_the_classes() -> None:
    found = [value for value in vars(errors).values() if isinstance(value, type)]
    classes = [c for c in found if issubclass(c, BaseException) and c.__module__ == errors.__name__]
    real = {cls.__name__: str(cls.__mro__[1].__name__) for cls in classes}
    assert _drawn() == real


def test_every_call_error_has_a_kind_of_its_own_from_the_contract() -> None:
    kinds = [cls.kind for cls in CallError.__subclasses__() if cls.__module__ == errors.__name__]
    assert len(kinds) == len(set(kinds))
    assert set(kinds) <= set(get_args(Kind))


def test_what_the_model_and_what_the_developer_is_told_never_mix() -> None:
    assert not issubclass(CallError, SetupError)
    assert not issubclass(SetupError, CallError)
    assert not issubclass(ModelError, CallError | SetupError)


@given(st.text(), st.dictionaries(st.text(), st.integers()))
def test_a_call_error_keeps_its_text_and_its_details_apart(
    text: str, details: dict[str, int]
) -> None:
    error = ToolError(text, details)
    assert (str(error), error.text, error.details) == (text, text, details)
    assert dict(ToolError(text).details) == {}


def test_invalid_arguments_carry_every_field_beside_other_details() -> None:
    wrong = (FieldError(("city",), "a string", "3"), FieldError((), "an object"))
    error = InvalidArguments("two are wrong", wrong, {"tool": "weather"})
    assert error.errors == wrong
    assert error.details == {"tool": "weather", "errors": wrong}
    assert error.kind == "invalid_arguments"


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ((), "arguments"),
        (("city",), "city"),
        (("a", "b", 0, "c"), "a.b[0].c"),
        ((0, 1), "[0][1]"),
        (("城市", "名"), "城市.名"),
    ],
)
def test_the_path_of_a_field_reads_as_people_write_it(
    path: tuple[str | int, ...], where: str
) -> None:
    assert FieldError(path, "x").where == where


def test_a_field_says_what_was_expected_and_what_came() -> None:
    assert str(FieldError(("n",), "an integer", "'x'")) == "n: expected an integer, got 'x'"
    assert str(FieldError(("n",), "an integer")) == "n: expected an integer"


def test_a_missing_extra_says_the_line_that_installs_it() -> None:
    error = MissingExtraError("the command line", "cli")
    assert str(error) == "the command line needs an extra: pip install 'toolkeel[cli]'"
    assert isinstance(error, SetupError)


def test_a_model_error_keeps_the_status_and_the_wait_the_server_asked_for() -> None:
    error = ModelError("busy", status=429, retry_after=2.5)
    assert (str(error), error.status, error.retry_after) == ("busy", 429, 2.5)
    assert (ModelError("gone").status, ModelError("gone").retry_after) == (None, None)
