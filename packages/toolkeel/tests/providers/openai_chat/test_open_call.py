"""A call that arrives in pieces gives what is new and certain of its arguments."""

from __future__ import annotations

import pytest

from toolkeel.providers.openai_chat.open_call import CallPiece, OpenCall


def new_of(*pieces: str) -> list[str]:
    call = OpenCall(0)
    return [call.append(piece) for piece in pieces]


@pytest.mark.parametrize(
    ("pieces", "new"),
    [
        (('{"a"', ": 1}"), ['{"a"', ": 1}"]),
        (("{}", '{"a": 1}'), ["", '{"a": 1}']),  # a placeholder first
        (('{"a"', '{"a": 1}'), ['{"a"', ": 1}"]),  # each piece repeats those before
        (('{"a": "\ud83d', '\udc31"}'), ['{"a": "', '\U0001f431"}']),
    ],
)
def test_what_is_new_is_returned_once_it_is_certain(pieces: list[str], new: list[str]) -> None:
    assert new_of(*pieces) == new


def test_what_comes_after_complete_arguments_is_surplus() -> None:
    call = OpenCall(0)
    assert [call.append(piece) for piece in ('{"a": 1}', '{"a": 2}')] == ['{"a": 1}', ""]
    assert (call.is_complete, call.surplus) == (True, ['{"a": 2}'])


def test_a_placeholder_that_nothing_replaces_is_released_in_the_end() -> None:
    call = OpenCall(0)
    assert (call.append("{}"), call.is_placeholder) == ("", True)
    assert (call.release(), call.release()) == ("{}", "")


@pytest.mark.parametrize(
    ("index", "read"), [(1, 1), ("1", 1), (1.0, 1), (None, None), ("x", None), (True, None)]
)
def test_an_index_is_read_whatever_its_type(index: object, read: int | None) -> None:
    assert CallPiece(index, "", {}).index == read
