"""Calls that a model writes as text are calls; everything else it writes stays text."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.providers.loopback import answer, chunk, events, saying
from toolkeel import Agent, tool
from toolkeel.agent.reply_assembly import assemble
from toolkeel.content import Image, Text
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage
from toolkeel.model_interface import CallDelta, Delta, Finish, ReasoningDelta, TextDelta
from toolkeel.providers.openai_chat.model import OpenAIChat
from toolkeel.providers.text_calls.decoder import TextCalls, find_calls


@tool
def get_weather(city: str, days: int = 1) -> str:
    """Look up the weather."""
    return f"{city}: {days} sunny"


@tool(name="clock.now")
def now() -> str:
    """Tell the time."""
    return "noon"


TOOLS = [get_weather, now]
PARIS = ("get_weather", {"city": "Paris", "days": 2})
NOW = ("clock.now", {})
JSON = '{"name": "get_weather", "arguments": {"city": "Paris", "days": 2}}'
JSON_NOW = '{"name": "clock_now", "arguments": {}}'
XML = "<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n2\n"
XML += "</parameter>\n</function>"
INVOKE = '<invoke name="get_weather">\n<parameter name="city">Paris</parameter>\n'
INVOKE += '<parameter name="days">2</parameter>\n</invoke>'
DSML = '<|DSML|invoke name="get_weather">\n<|DSML|parameter name="city" string="true">Paris'
DSML += '</|DSML|parameter>\n<|DSML|parameter name="days" string="false">2</|DSML|parameter>\n'
DSML = f"<|DSML|function_calls>\n{DSML}</|DSML|invoke>\n</|DSML|function_calls>".replace(
    "|", "\uff5c"
)
DEEPSEEK = (
    "<|tool▁calls▁begin|><|tool▁call▁begin|>function<|tool▁sep|>get_weather\n```json\n"
    '{"city": "Paris", "days": 2}\n```<|tool▁call▁end|>\n<|tool▁call▁begin|>clock_now<|tool▁sep|>'
    "{}<|tool▁call▁end|><|tool▁calls▁end|>"
)
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
    '<|tool_call_argument_begin|>{"city": "Paris", "days": 2}<|tool_call_end|>'
    "<|tool_call_begin|>functions.clock_now:1<|tool_call_argument_begin|>{}<|tool_call_end|>"
    "<|tool_calls_section_end|>"
)
GLM = "get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>days</arg_key>"
GLM += "\n<arg_value>2</arg_value>"

WRITTEN: dict[str, tuple[str, list[Any]]] = {
    "hermes": (f"<tool_call>\n{JSON}\n</tool_call>", [PARIS]),
    "hermes, two": (
        f"<tool_call>\n{JSON}\n</tool_call>\n<tool_call>\n{JSON_NOW}\n</tool_call>",
        [PARIS, NOW],
    ),
    "hermes, no end": (f"<tool_call>\n{JSON}", [PARIS]),
    "qwen coder": (f"<tool_call>\n{XML}\n</tool_call>", [PARIS]),
    "qwen coder, no tag": (XML, [PARIS]),
    "llama's function tag": (
        '<function=get_weather>{"city": "Paris", "days": 2}</function>',
        [PARIS],
    ),
    "glm": (f"<tool_call>{GLM}\n</tool_call>", [PARIS]),
    "glm, no arguments": ("<tool_call>clock_now\n</tool_call>", [NOW]),
    "mistral, list": (f"[TOOL_CALLS] [{JSON}, {JSON_NOW}]", [PARIS, NOW]),
    "mistral, names": (
        '[TOOL_CALLS]get_weather[ARGS]{"city": "Paris", "days": 2}[TOOL_CALLS]clock_now[ARGS]{}',
        [PARIS, NOW],
    ),
    "mistral, ids": (
        '[TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]{"city": "Paris", "days": 2}</s>',
        [PARIS],
    ),
    "llama": (
        '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Paris", "days": 2}}; '
        f"{JSON_NOW}<|eom_id|>",
        [PARIS, NOW],
    ),
    "llama, bare": (
        '{"type": "function", "name": "get_weather", "parameters": {"city": "Paris", "days": 2}}',
        [PARIS],
    ),
    "bare list": (f"[{JSON}, {JSON_NOW}]", [PARIS, NOW]),
    "pythonic": ("[get_weather(city='Paris', days=2), clock_now()]", [PARIS, NOW]),
    "lfm": (
        '<|tool_call_start|>[get_weather(city="Paris", days=2)]<|tool_call_end|>',
        [PARIS],
    ),
    "llama 4": ('<|python_start|>[get_weather(city="Paris", days=2)]<|python_end|>', [PARIS]),
    "granite": (f"<|tool_call|>[{JSON}]", [PARIS]),
    "phi": (f"<|tool_call|>[{JSON}]<|/tool_call|>", [PARIS]),
    "deepseek": (DEEPSEEK, [PARIS, NOW]),
    "deepseek, wide bars": (DEEPSEEK.replace("|", "\uff5c"), [PARIS, NOW]),
    "deepseek, dsml": (DSML, [PARIS]),
    "deepseek, v4": (DSML.replace("function_calls", "tool_calls"), [PARIS]),
    "kimi": (KIMI, [PARIS, NOW]),
    "minimax": (f"<minimax:tool_call>\n{INVOKE}\n</minimax:tool_call>", [PARIS]),
    "qwen 2.5 coder, tools tag": (f"<tools>\n{JSON}\n</tools>", [PARIS]),
    "tools tag, list": (f"<tools>[{JSON}, {JSON_NOW}]</tools>", [PARIS, NOW]),
    "tools tag, no end": (f"<tools>{JSON}", [PARIS]),
    "hunyuan": (f"<tool_calls>[{JSON}]</tool_calls>", [PARIS]),
    "nemotron": (f"<TOOLCALL>[{JSON}]</TOOLCALL>", [PARIS]),
    "glaive": (f"<functioncall> {JSON} <|endoftext|>", [PARIS]),
    "function_call tag": (f"<function_call>{JSON}</function_call>", [PARIS]),
    "command r": (
        '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get_weather", '
        '"parameters": {"city": "Paris", "days": 2}}]<|END_ACTION|>',
        [PARIS],
    ),
    "internlm": (f"<|action_start|><|plugin|>\n{JSON}<|action_end|>", [PARIS]),
    "seed": (f"<seed:tool_call>\n{XML}\n</seed:tool_call>", [PARIS]),
    "bare, arguments first": (
        '{"arguments": {"city": "Paris", "days": 2}, "name": "get_weather"}',
        [PARIS],
    ),
    "bare, tool": ('{"tool": "get_weather", "args": {"city": "Paris", "days": 2}}', [PARIS]),
    "bare, openai": (
        '{"tool_calls": [{"type": "function", "function": {"name": "get_weather", '
        '"arguments": "{\\"city\\": \\"Paris\\", \\"days\\": 2}"}}]}',
        [PARIS],
    ),
    "bare, one a line": (f"{JSON}\n{JSON_NOW}", [PARIS, NOW]),
    "bare, closing tag without its opening": (f"{JSON}\n</tool_call>", [PARIS]),
    "bare, tools closed": (f"{JSON}</tools><|im_end|>", [PARIS]),
    "bare, second one tagged": (f"{JSON}\n</tool_call>\n<tool_call>\n{JSON_NOW}", [PARIS, NOW]),
    "qwen 3 coder, opening lost": (f"{XML}\n</tool_call>", [PARIS]),
    "bare, fence": (f"```json\n{JSON}\n```", [PARIS]),
    "bare, fence without a language": (f"```\n{JSON}\n```\n", [PARIS]),
    "bare, fence of tildes": (f"~~~ tool_call\n{JSON}\n~~~", [PARIS]),
    "bare, fence on one line": (f"```json {JSON} ```", [PARIS]),
    "bare, fence never closed": (f"\n```json\n{JSON}\n<|im_end|>", [PARIS]),
    "bare, fence around a list": (f"```json\n[{JSON},\n {JSON_NOW}]\n```<|im_end|>", [PARIS, NOW]),
    "bare, fence around two lines": (f"````json\n{JSON}\n{JSON_NOW}\n````", [PARIS, NOW]),
    "bare, fence around a tag": (f"```xml\n<tool_call>\n{JSON}\n</tool_call>\n```", [PARIS]),
    "bare, fence around two tags": (
        f"```\n<tool_call>{JSON}</tool_call>\n<tool_call>{JSON_NOW}</tool_call>\n```",
        [PARIS, NOW],
    ),
    "bare, fence around Python": ("```python\n[get_weather(city='Paris', days=2)]\n```", [PARIS]),
    "bare, gemma": ("```tool_code\nget_weather(city='Paris', days=2)\n```", [PARIS]),
}
"""Forms of calls; of the ``bare`` ones some text is visible until the end of the reply."""

AFTER_A_SENTENCE = [
    "I will look up the weather.\n\n",
    "Sure! ",
    "I use this function:\n",
    "\u6211\u6765\u67e5\u4e00\u4e0b\u5929\u6c14\uff1a",
    "To answer, I call get_weather\n",
]

ABOUT = [
    "no calls at all",
    f"Write\n```\n<tool_call>{JSON}</tool_call>\n```",
    f"Write\n~~~xml\n<tool_call>{JSON}</tool_call>\n~~~",
    f"A call is written so:\n```json\n{JSON}\n```",
    f"```json\n{JSON}\n```\nis how a call is written.",
    f"```json\n{JSON}\n```\n```json\n{JSON}\n```",
    f"```json\n{JSON}\n// a comment\n```",
    '```json\n{"name": "rm", "arguments": {}}\n```',
    '```json\n{"name": "Paris", "population": 2}\n```',
    "```python\nget_weather(city='Paris')\n```",
    "```python\nprint(1)\n```",
    "```",
    "```json\n",
    f"The first line.\nThe second line.\n{JSON}",
    f"It is so.\n{JSON}\nThat was it.",
    f"{'Long. ' * 80}{JSON}",
    "</tool_call> is a tag",
    '{"arguments": {"of": "a talk"}, "who": "Ann"}',
    '{"tool_calls": []}',
    f"````\n```\n<tool_call>{JSON}</tool_call>\n```\n````",
    f"Write `<tool_call>{JSON}</tool_call>` to call.",
    f"<think>Shall I say <tool_call>{JSON}</tool_call>?</think>No.",
    '<tool_call>{"name": "rm", "arguments": {}}</tool_call>',
    '<tool_call>{"name": "get_weather", "arguments": {"city": }}</tool_call>',
    '<tool_call>{"name": "get_weather", "arguments": [1]}</tool_call>',
    f"<tool_call>{JSON} and more</tool_call>",
    "<tool_call></tool_call>",
    "Use [get_weather(city='Paris')] for that.",
    "[get_weather('Paris')]",
    "[get_weather(city=city)]",
    "[get_weather(**{'city': 'Paris'})]",
    "[get_weather(city=__import__('os').name)]",
    "[get_weather(city='Paris')",
    "[get_weather is a tool](https://example.org)",
    '{"name": "Paris", "population": 2}',
    '{"name": "get_weather"',
    f"{JSON} is how I would call it.",
    f"It is {JSON}",
    "[TOOL_CALLS] and other tokens",
    "<|python_tag|>print(1)",
    f"{KIMI[:-40]}",
    "<|tool▁calls▁begin|>get_weather<|tool▁calls▁end|>",
    "a < b, `c`, [d], {e} and <f>",
    "<tool_",
    "[",
    "``",
]


def fed(*deltas: Delta) -> AssistantMessage:
    texts = TextCalls(TOOLS)
    out = [found for delta in deltas for found in texts.feed(delta)]
    return assemble([*out, *texts.finish()])


def calls_of(reply: AssistantMessage) -> list[Any]:
    return [(call.name, json.loads(str(call.arguments))) for call in reply.tool_calls]


@pytest.mark.parametrize("form", WRITTEN)
def test_every_form_is_understood(form: str) -> None:
    text, calls = WRITTEN[form]
    reply = fed(TextDelta(text), Finish("stop"))
    assert (calls_of(reply), reply.text.strip()) == (calls, "")
    assert reply.finish_reason == "tool_calls"
    assert all(call.complete for call in reply.tool_calls)
    assert len({call.id for call in reply.tool_calls}) == len(calls)


@pytest.mark.parametrize("text", ABOUT)
def test_text_about_calls_stays_text(text: str) -> None:
    reply = fed(TextDelta(text), Finish("stop"))
    assert (reply.text, reply.tool_calls, reply.finish_reason) == (text, (), "stop")


PIECES = st.sampled_from(
    [*(text for text, _ in WRITTEN.values()), *ABOUT, "\n", "北京 ", "`", "<", "["]
)


@given(st.lists(PIECES, max_size=4), st.lists(st.integers(0, 400), max_size=8))
@example([f"<tool_call>\n{JSON}\n</tool_call>"], list(range(1, 90)))
def test_however_it_is_cut_it_is_the_same_reply(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    whole = fed(TextDelta(text), Finish("stop"))
    places = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    pieces = [TextDelta(text[a:b]) for a, b in itertools.pairwise(places)]
    cut = fed(*pieces, Finish("stop"))
    assert (cut.text, calls_of(cut)) == (whole.text, calls_of(whole))
    if not whole.tool_calls:
        assert whole.text == text


@given(st.sampled_from(list(WRITTEN)))
def test_letter_by_letter_nothing_of_a_marker_is_shown(form: str) -> None:
    text, _calls = WRITTEN[form]
    texts = TextCalls(TOOLS)
    shown = [one for letter in f"Well:\n{text}" for one in texts.feed(TextDelta(letter))]
    said = "".join(one.text for one in shown if isinstance(one, TextDelta))
    if "bare" not in form and "opening lost" not in form:
        assert said.strip() == "Well:"


@given(st.text(alphabet=st.sampled_from(list("<[`~{tool_call>\n") + ["\ud83d", "é"]), max_size=60))
def test_text_that_is_no_call_comes_through_unchanged(text: str) -> None:
    reply = fed(*map(TextDelta, text), Finish("stop"))
    assert (reply.text, reply.tool_calls) == (text, ())


@pytest.mark.parametrize("sentence", AFTER_A_SENTENCE)
@pytest.mark.parametrize("call", [JSON, f"{JSON}\n{JSON_NOW}", f"{JSON}\n</tool_call>"])
def test_json_after_one_sentence_is_a_call(sentence: str, call: str) -> None:
    reply = fed(TextDelta(sentence + call), Finish("stop"))
    assert (reply.text, calls_of(reply)[0]) == (sentence, PARIS)


@pytest.mark.parametrize("thought", ["<think>Hm.</think>\n", "Hm.\nParis, then.</think>\n\n"])
def test_json_after_reasoning_in_the_text_is_a_call(thought: str) -> None:
    assert calls_of(fed(TextDelta(thought + JSON), Finish("stop"))) == [PARIS]


@given(
    st.sampled_from([text for text, _ in WRITTEN.values()] + AFTER_A_SENTENCE),
    st.sampled_from([JSON, f"```json\n{JSON}\n```", f"{JSON}</tool_call>", ""]),
    st.sampled_from(["", "\n", "<|im_end|></s>\n", "So.", "\n```", "</s", " {}", "<|im_end|>x"]),
    st.integers(1, 7),
)
def test_equal_pieces_of_any_size_make_the_same_reply(
    before: str, call: str, after: str, size: int
) -> None:
    text = before + call + after
    whole = fed(TextDelta(text), Finish("stop"))
    pieces = [TextDelta(text[at : at + size]) for at in range(0, len(text), size)]
    cut = fed(*pieces, Finish("stop"))
    assert (cut.text, calls_of(cut)) == (whole.text, calls_of(whole))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("```python\nprint(1)", "```python\nprint(1)"),
        ('```json\n{"name": "Paris"', '```json\n{"name": "Paris"'),
        (f"```json\n{JSON}\n```\nis", f"```json\n{JSON}\n```\nis"),
        (f"{JSON} is", f"{JSON} is"),
        ('{"name": "Paris"', '{"name": "Paris"'),
        ('Here it is: {"city"', 'Here it is: {"city"'),
        (f"Sure. {JSON}", "Sure. "),
        (f"```json\n{JSON}\n```", ""),
    ],
)
def test_only_what_may_become_a_call_is_withheld(text: str, shown: str) -> None:
    texts = TextCalls(TOOLS)
    deltas = [one for letter in text for one in texts.feed(TextDelta(letter))]
    assert "".join(one.text for one in deltas if isinstance(one, TextDelta)) == shown


def test_text_before_and_behind_stays() -> None:
    text = f"Let me look.\n<tool_call>{JSON}</tool_call>\nThat was it."
    reply = fed(TextDelta(text), Finish("stop"))
    assert (reply.text, calls_of(reply)) == ("Let me look.\nThat was it.", [PARIS])


def test_what_ends_a_form_may_stand_in_an_argument() -> None:
    for inside in ("</tool_call>", "<tool_call>", "```", '"]})'):
        call = {"name": "get_weather", "arguments": {"city": inside}}
        for text in (
            f"<tool_call>{json.dumps(call)}</tool_call>",
            f"[get_weather(city={inside!r})]",
            f"[TOOL_CALLS][{json.dumps(call)}]",
        ):
            assert calls_of(fed(TextDelta(text), Finish("stop"))) == [
                ("get_weather", {"city": inside})
            ]


def test_a_call_in_a_reply_that_was_cut_off_never_runs() -> None:
    reply = fed(TextDelta(f"<tool_call>{JSON}</tool_call>"), Finish("length"))
    assert [call.complete for call in reply.tool_calls] == [False]
    assert fed(TextDelta("<tool_call>{")).text == "<tool_call>{"


def test_calls_beside_the_text_keep_their_order_and_thoughts_are_left_alone() -> None:
    reply = fed(
        ReasoningDelta(f"<tool_call>{JSON}</tool_call>"),
        CallDelta(0, "a", "clock.now", "{}"),
        TextDelta(f"<tool_call>{JSON}</tool_call>"),
        CallDelta(1, "b", "clock.now", "{}"),
        Finish("tool_calls"),
    )
    assert [call.name for call in reply.tool_calls] == ["clock.now", "get_weather", "clock.now"]
    assert len(reply.reasoning) == 1


def test_a_reply_that_is_there_whole_is_read_too() -> None:
    said = AssistantMessage(f"Hm. <tool_call>{JSON}</tool_call>", (ToolCall("a", "x"),))
    found = find_calls(said, TOOLS)
    assert (found.content, [call.name for call in found.tool_calls]) == (
        "Hm. ",
        ["x", "get_weather"],
    )
    assert found.finish_reason == "tool_calls"
    quiet = AssistantMessage("Hello")
    assert find_calls(quiet, TOOLS) is quiet


@pytest.mark.slow
def test_a_long_text_costs_what_its_length_costs() -> None:
    import time

    def spent(size: int) -> float:
        texts = TextCalls(TOOLS)
        began = time.perf_counter()
        for piece in ["<tool_call>", *['{"a": "</tool_call> [' for _ in range(size)]]:
            texts.feed(TextDelta(piece))
        texts.finish()
        return time.perf_counter() - began

    spent(100)
    assert spent(20_000) < 20 * max(spent(4_000), 0.02)


# — through the model —


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("form", ["hermes, two", "pythonic", "deepseek, wide bars"])
def test_an_agent_runs_what_a_local_model_writes(form: str, stream: bool) -> None:
    text, calls = WRITTEN[form]
    if stream:
        said = events(*(chunk(content=letter) for letter in text), chunk("stop"))
        done = events(chunk("stop", content="Done."))
    else:
        reply = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
        said = answer(json.dumps(reply))
        done = answer(
            json.dumps(
                reply | {"choices": [{"message": {"content": "Done."}, "finish_reason": "stop"}]}
            )
        )
    with saying(said, done) as server:
        model = OpenAIChat("m", base_url=server.url, stream=stream, calls="text")
        result = Agent(model, TOOLS).run_sync("Weather?")
    results = [(m.name, m.content) for m in result.messages if isinstance(m, ToolMessage)]
    assert results == [("get_weather", "Paris: 2 sunny"), ("clock.now", "noon")][: len(calls)]
    assert result.output == "Done."
    sent = server.requests[1]["messages"][1]["tool_calls"]
    assert [one["function"]["name"] for one in sent] == ["get_weather", "clock_now"][: len(calls)]


def test_nobody_looks_for_calls_unless_asked() -> None:
    text = WRITTEN["hermes"][0]
    with saying(events(chunk("stop", content=text))) as server:
        result = Agent(OpenAIChat("m", base_url=server.url), TOOLS).run_sync("hi")
    assert result.output == text


def test_pictures_of_a_reply_stay_when_calls_are_found_in_its_text() -> None:
    said = '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>'
    drawn = AssistantMessage((Text(said), Image(b"1")))
    found = find_calls(drawn, TOOLS)
    assert [call.name for call in found.tool_calls] == ["get_weather"]
    assert found.content == (Text(""), Image(b"1"))
