"""Text between ``<think>`` tags is reasoning, however the stream is split."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.agent.reply_assembly import assemble
from toolkeel.content import Image
from toolkeel.messages import AssistantMessage, Usage
from toolkeel.model_interface import CallDelta, Delta, Finish, ReasoningDelta, TextDelta
from toolkeel.providers.text_calls.think_tags import THINK_KEY, ThinkTags
from toolkeel.providers.wire.media import text_without_media

words = st.text(st.sampled_from('ab <>/{}"1\n東🐱`'), max_size=12).map(
    lambda text: text.strip("`\n")
)
cuts = st.lists(st.integers(0, 200), max_size=12)


def split(text: str, at: list[int]) -> list[Delta]:
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in at)})
    return [TextDelta(text[a:b]) for a, b in pairwise(edges)]


def read(deltas: list[Delta], end: Finish | None = None) -> AssistantMessage:
    tags = ThinkTags()
    found: list[Delta | AssistantMessage] = []
    for delta in [*deltas, *([end] if end else [])]:
        found += tags.feed(delta)
    return assemble([*found, *tags.finish()])


def thoughts(reply: AssistantMessage) -> str:
    return "".join(one.text for one in reply.reasoning)


@given(words, words, cuts, st.sampled_from(["", "\n", " \n"]), st.sampled_from(["", "\n", "\n\n"]))
def test_a_reply_that_begins_with_reasoning_is_split_at_the_tags(
    thought: str, said: str, at: list[int], before: str, between: str
) -> None:
    text = f"{before}<think>{between}{thought}{between}</think>{between}{said}"
    reply = read(split(text, at), Finish("stop", Usage(1, 2, 3), "m"))
    assert (thoughts(reply), reply.text) == (thought, said)
    assert (reply.usage, reply.model) == (Usage(1, 2, 3), "m")
    assert reply.provider_options.get("reasoning_key") == THINK_KEY


@given(words, words, cuts)
def test_without_the_opening_tag_all_text_before_the_closing_one_is_reasoning(
    thought: str, said: str, at: list[int]
) -> None:
    end = Finish("stop", Usage(1, 2, 3), "m", {}, (Image(b"x", "image/png"),))
    reply = read(split(f"{thought}\n</think>\n\n{said}", at), end)
    assert (thoughts(reply), text_without_media(reply)) == (thought, said)
    assert reply.usage == Usage(1, 2, 3)
    assert any(isinstance(block, Image) for block in reply.content)


@given(st.lists(st.tuples(words, words), max_size=4), cuts)
def test_reasoning_between_texts_is_reasoning(parts: list[tuple[str, str]], at: list[int]) -> None:
    text = "begin" + "".join(f"<think>{thought}</think>{said}" for thought, said in parts)
    reply = read(split(text, at), Finish("stop"))
    assert reply.text == "begin" + "".join(said for _, said in parts)
    assert thoughts(reply) == "".join(thought for thought, _ in parts)


@given(words, cuts)
def test_reasoning_that_breaks_off_is_reasoning(thought: str, at: list[int]) -> None:
    reply = read(split(f"<think>{thought}", at))
    assert (thoughts(reply), reply.text, reply.finish_reason) == (thought, "", "incomplete")


@given(words, cuts, st.booleans())
def test_text_without_a_pair_of_tags_stays_as_it_is(text: str, at: list[int], ends: bool) -> None:
    for said in (text, f"{text}`<think>` or `</think>`", f"x {text}<think>", "<thin", "  <thing>"):
        reply = read(split(said, at), Finish("stop") if ends else None)
        assert (reply.text, reply.reasoning) == (said, ())


plain = words.filter(lambda text: "```" not in text)
fences = st.builds(
    lambda indent, mark, more: (f"{indent}{mark * (3 + more)}", f"{indent}{mark * (3 + more)}"),
    st.sampled_from(["", "  ", "> ", "- "]),
    st.sampled_from("`~"),
    st.integers(0, 2),
)
tagged = st.sampled_from(
    ["<think>plan</think>", "</think>", "<think>", "a </think> b <think> c", "x\n</think>\n\ny"]
)


@given(fences, st.sampled_from(["", "xml", " text"]), tagged, plain, cuts)
def test_tags_in_fenced_code_are_text(
    fence: tuple[str, str], info: str, inside: str, around: str, at: list[int]
) -> None:
    opening, closing = fence
    said = f"{around}\n{opening}{info}\n{inside}\n{closing}\n{around}"
    reply = read(split(said, at), Finish("stop"))
    assert (reply.text, reply.reasoning) == (said, ())


@given(fences, plain, plain, cuts)
def test_reasoning_with_fenced_code_is_reasoning_all_the_same(
    fence: tuple[str, str], code: str, said: str, at: list[int]
) -> None:
    opening, closing = fence
    for thought in (f"a\n{opening}py\n{code}\n{closing}\nb", f"a\n{opening}py\n{code}."):
        for tag in ("<think>", ""):
            reply = read(split(f"{tag}{thought}</think>\n\n{said}", at), Finish("stop"))
            assert (thoughts(reply), reply.text) == (thought, said)


@given(plain, cuts)
def test_tags_in_the_code_of_an_answer_are_text_behind_reasoning(said: str, at: list[int]) -> None:
    code = "```\n<think>plan</think>\n```"
    reply = read(split(f"<think>Hm.</think>So {said}\n{code}\nend", at), Finish("stop"))
    assert (thoughts(reply), reply.text) == ("Hm.", f"So {said}\n{code}\nend")


@given(words, cuts)
def test_tags_are_text_where_the_server_sends_reasoning_of_its_own(
    text: str, at: list[int]
) -> None:
    said = f"{text}</think><think>{text}</think>"
    reply = read([ReasoningDelta("Hm."), *split(said, at)], Finish("stop"))
    assert (reply.text, thoughts(reply)) == (said, "Hm.")


@pytest.mark.parametrize("opened", [True, False])
def test_calls_stay_in_the_reply(opened: bool) -> None:
    said = "<think>" * opened + "Hm.</think>ok"
    reply = read([TextDelta(said), CallDelta(0, "c", "f", "{}")], Finish("tool_calls"))
    assert (reply.text, thoughts(reply)) == ("ok", "Hm.")
    assert [(call.id, call.name, call.complete) for call in reply.tool_calls] == [("c", "f", True)]
