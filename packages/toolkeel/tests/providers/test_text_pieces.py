"""Text in pieces is joined as it was meant, also if each piece has the text so far."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolkeel.agent.reply_assembly import assemble
from toolkeel.model_interface import ReasoningDelta, TextDelta
from toolkeel.providers import gemini, openai_chat
from toolkeel.providers.text_pieces import CumulativeText, SurrogateJoiner

texts = st.text("abc 東🐱\n", max_size=12)


def read(pieces: list[str], *, ends: bool = False) -> str:
    text = CumulativeText()
    last = len(pieces) - 1
    parts = [text.feed(one, is_last=ends and n == last) for n, one in enumerate(pieces)]
    return "".join(parts) + text.finish()


def is_unit(text: str) -> bool:
    return any(text == text[:n] * (len(text) // n) for n in range(1, len(text)))


def read_chat(pieces: list[str], key: str) -> str:
    end = {"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}
    choices = [{"index": 0, "delta": {key: one}} for one in pieces]
    reply = assemble(openai_chat.decode_stream([{"choices": [one]} for one in (*choices, end)]))
    return reply.text if key == "content" else "".join(one.text for one in reply.reasoning)


def read_gemini(pieces: list[str], key: str) -> str:
    parts = [{"text": one, "thought": key != "content"} for one in pieces]
    candidates = [{"content": {"parts": [one]}} for one in parts]
    chunks = [{"candidates": [one]} for one in (*candidates, {"finishReason": "STOP"})]
    reply = assemble(gemini.decode_stream(chunks))
    return reply.text if key == "content" else "".join(one.text for one in reply.reasoning)


@given(
    st.lists(texts.filter(bool), min_size=3, max_size=6),
    st.sampled_from([read_chat, read_gemini]),
    st.sampled_from(["content", "reasoning_content"]),
    st.booleans(),
)
def test_pieces_that_each_have_the_text_so_far_are_read_once(
    new: list[str], wire: object, key: str, is_repeated: bool
) -> None:
    so_far = ["".join(new[:n]) for n in range(1, len(new) + 1)]
    long = [one for one in so_far[2:] if len(one) >= 8 and not is_unit(one)]
    assume(long and long[0] == so_far[2])
    assert wire([*so_far, *so_far[-1:] * is_repeated], key) == so_far[-1]  # type: ignore[operator]


@given(st.lists(texts, max_size=6), st.booleans())
def test_pieces_of_one_text_are_joined_however_they_repeat_each_other(
    pieces: list[str], ends: bool
) -> None:
    said = [one for one in pieces if one]
    nested = [later.startswith(one) for one, later in pairwise(said[:3])]
    assume(nested != [True, True])
    assume(not ends or "".join(pieces[:-1]) != pieces[-1:])
    assert read(pieces, ends=ends and "".join(pieces[:-1]) not in pieces[-1:]) == "".join(pieces)


@given(st.text("ab \n", min_size=1, max_size=4), st.lists(st.integers(1, 5), max_size=6))
def test_a_unit_that_recurs_is_no_repetition_of_the_server(unit: str, counts: list[int]) -> None:
    pieces = [unit * count for count in counts]
    assert read(pieces, ends=True) == "".join(pieces)


@given(st.text("ab ", min_size=1, max_size=4))
def test_a_thought_that_waited_comes_before_the_text(text: str) -> None:
    parts: list[dict[str, Any]] = [{"text": one, "thought": True} for one in ("So", "So it")]
    contents = [{"parts": [one]} for one in (*parts, {"text": text})]
    found = gemini.decode_stream([{"candidates": [{"content": one}]} for one in contents])
    assert [type(one) for one in found] == [ReasoningDelta, ReasoningDelta, TextDelta]


@pytest.mark.parametrize(
    "pieces",
    [
        ["\n", "\n", "Here is the answer."],
        ["Yes. ", "Yes. Of course."],
        ["All work", " and", " no play", "All work and no play", "!"],
        ["1", "10", "100"],
    ],
)
def test_a_model_may_repeat_itself(pieces: list[str]) -> None:
    assert read(pieces) == "".join(pieces)


@given(st.lists(texts.filter(bool), min_size=3, max_size=6))
def test_a_last_piece_with_all_of_the_text_adds_nothing(pieces: list[str]) -> None:
    text = "".join(pieces)
    assume(len(text) >= 8 and not is_unit(text) and not pieces[1].startswith(pieces[0]))
    assert read([*pieces, text], ends=True) == text


@given(st.text(st.sampled_from("a東🐱"), max_size=8), st.integers(1, 3))
def test_text_cut_between_utf_16_units_is_put_together(text: str, size: int):
    units = text.encode("utf-16-le", "surrogatepass")
    parts = [units[i : i + 2 * size] for i in range(0, len(units), 2 * size)]
    for keep_lone in (False, True):
        pieces = SurrogateJoiner(keep_lone=keep_lone)
        said = [pieces.feed(part.decode("utf-16-le", "surrogatepass")) for part in parts]
        assert "".join(said) == text


def test_lone_halves_are_left_for_a_reader_that_refuses_them() -> None:
    assert SurrogateJoiner(keep_lone=True).feed("a\udc31b\0") == "a\udc31b\0"
    assert SurrogateJoiner().feed("a\udc31b\0") == "ab"
