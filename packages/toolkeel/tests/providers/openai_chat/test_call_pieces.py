"""Whatever a server does to the pieces of its calls, the right calls come out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from toolkeel.agent.reply_assembly import assemble
from toolkeel.messages import ToolCall
from toolkeel.model_interface import Delta, Finish
from toolkeel.providers.openai_chat.call_pieces import CallTracker

Entry = dict[str, Any]
Made = tuple[str, str, str]
"""Id, name and arguments of a call as the model meant it."""

texts = st.text(st.sampled_from('a"\\{}[]: ,\n東🐱'), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=5,
)
objects = st.builds(
    lambda value, raw, indent: json.dumps(value, ensure_ascii=not raw, indent=indent),
    st.dictionaries(texts, values, max_size=3),
    st.booleans(),
    st.sampled_from([None, 1]),
)
names = st.sampled_from(["get_weather", "add", "now", "查询_天气", "get_time"])
cuts = st.lists(st.integers(0, 200), max_size=6)


@st.composite
def made_calls(draw: st.DrawFn, *, least: int = 1, different: bool = False) -> list[Made]:
    count = draw(st.integers(least, 4))
    pairs = [(draw(names), draw(objects)) for _ in range(count)]
    if different:
        said = [(name, json.dumps(json.loads(text), sort_keys=True)) for name, text in pairs]
        assume(len(set(said)) == len(said))
    return [(f"call_{number}", name, text) for number, (name, text) in enumerate(pairs)]


def cut(text: str, at: Sequence[int]) -> list[str]:
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in at)})
    return [text[a:b] for a, b in pairwise(edges)]


def entry(
    index: int | None, id: str | None = None, name: str | None = None, text: Any = None
) -> Entry:
    made: Entry = {"type": "function", "function": {"name": name, "arguments": text}, "id": id}
    return made if index is None else {**made, "index": index}


def calls_of(entries: Sequence[Entry]) -> list[ToolCall]:
    return calls_of_lists([[one] for one in entries])


def calls_of_lists(lists: Sequence[Sequence[Entry]]) -> list[ToolCall]:
    tracker = CallTracker()
    deltas: list[Delta] = []
    for together in lists:
        for position, one in enumerate(together):
            alone = len(together) == 1
            deltas += tracker.feed(json.loads(json.dumps(one)), None if alone else position)
    return list(assemble([*deltas, *tracker.finish(), Finish("tool_calls")]).tool_calls)


def meaning(calls: Sequence[Made]) -> list[tuple[str, Any]]:
    return [(name, json.loads(text)) for _, name, text in calls]


def read(calls: Sequence[ToolCall]) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(str(call.arguments) or "{}")) for call in calls]


# — the habits: each says the same calls in its own way —


def by_the_book(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for index, (id, name, text) in enumerate(calls):
        yield entry(index, id, name, "")
        yield from (entry(index, text=piece) for piece in cut(text, at))


def interleaved(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for index, (id, name, _) in enumerate(calls):
        yield entry(index, id, name, "")
    rows = [[(i, piece) for piece in cut(text, at)] for i, (_, _, text) in enumerate(calls)]
    while any(rows):
        for row in rows:
            if row:
                index, piece = row.pop(0)
                yield entry(index, text=piece)


def whole_calls(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    return (entry(index, *call) for index, call in enumerate(calls))


def index_always_zero(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for id, name, text in calls:
        first, *rest = cut(text, at)
        yield entry(0, id, name, first)
        yield from (entry(0, text=piece) for piece in rest)


def index_always_zero_with_ids_interleaved(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for one in interleaved(calls, at):
        yield {**one, "id": calls[one["index"]][0], "index": 0}


def indexes_as_text(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for one in interleaved(calls, at):
        yield {**one, "index": str(one["index"])}


def indexes_as_fractions(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for one in interleaved(calls, at):
        yield {**one, "index": float(one["index"])}


def heads_without_index(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for one in interleaved(calls, at):
        yield {**one, "index": None} if one["id"] else one


def a_placeholder_behind_each(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for number, (index, (id, name, text)) in enumerate(enumerate(calls)):
        yield entry(index, id, name, "")
        yield from (entry(index, text=piece) for piece in cut(text, at))
        yield entry(index, [id, None, f"{id}-end"][number % 3], text=["{}", "null"][number % 2])


def a_placeholder_in_pieces_behind_each(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for index, (id, name, text) in enumerate(calls):
        yield entry(index, id, name, text)
        yield entry(index, id, name, "{")
        yield entry(index, text="}")


def no_index(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for one in by_the_book(calls, at):
        yield {key: value for key, value in one.items() if key != "index"}


def no_ids(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for one in interleaved(calls, at):
        yield {**one, "id": None}


def empty_ids_after_the_first(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for one in by_the_book(calls, at):
        yield {**one, "id": one["id"] or "", "function": {"name": "", **one["function"]}}


def id_changes_after_the_head(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for one in by_the_book(calls, at):
        id = one["id"] or f"chatcmpl-tool-{one['index']}"
        yield {**one, "id": id}


def id_changes_with_every_piece(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for number, one in enumerate(by_the_book(calls, at)):
        yield {**one, "id": f"{one['index']}-{number}"}


def late_ids(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for index, (id, name, text) in enumerate(calls):
        yield entry(index, None, name, "")
        yield from (entry(index, text=piece) for piece in cut(text, at))
        yield entry(index, id)


def name_with_every_piece(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for one in by_the_book(calls, at):
        _, name, _ = calls[one["index"]]
        yield entry(one["index"], one["id"], name, one["function"]["arguments"])


def id_and_name_with_every_piece(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for one in interleaved(calls, at):
        id, name, _ = calls[one["index"]]
        yield entry(one["index"], id, name, one["function"]["arguments"])


def name_in_pieces(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for index, (id, name, text) in enumerate(calls):
        first, middle, last = name.partition("_")
        yield entry(index, id, first)
        yield from (entry(index, None, piece) for piece in (middle, last) if piece)
        yield from (entry(index, text=piece) for piece in cut(text, at))


def name_growing(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for index, (id, name, text) in enumerate(calls):
        yield entry(index, id, name[:1])
        yield entry(index, None, name[:2])
        yield entry(index, None, name)
        yield from (entry(index, text=piece) for piece in cut(text, at))


def name_at_the_end(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for index, (id, name, text) in enumerate(calls):
        yield entry(index, id, text="")
        yield from (entry(index, text=piece) for piece in cut(text, at))
        yield entry(index, None, name)


def name_at_the_end_at_index_zero(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for one in name_at_the_end(calls, at):
        yield {**one, "index": 0}


def name_at_the_end_and_ids_everywhere(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for one in name_at_the_end(calls, at):
        yield {**one, "id": calls[one["index"]][0], "index": 0}


def a_last_word_under_another_id(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for index, (id, name, text) in enumerate(calls):
        yield entry(index, id, name, "")
        yield from (entry(index, text=piece) for piece in cut(text, at))
        yield entry(index, f"{id}-end", text="")


def arguments_only_at_the_end(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for index, (id, name, _) in enumerate(calls):
        yield entry(index, id, name)
    for index, (_, _, text) in enumerate(calls):
        yield entry(index, text=text)


def arguments_as_objects(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for index, (id, name, text) in enumerate(calls):
        yield entry(index, id, name, {})
        yield entry(index, None, None, json.loads(text))


def a_new_index_for_every_piece(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for number, one in enumerate(by_the_book(calls, at)):
        id, name, _ = calls[one["index"]]
        yield entry(number, id, name, one["function"]["arguments"])


def heads_at_zero_and_tails_at_their_index(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for one in by_the_book(calls, at):
        yield {**one, "index": 0} if one["id"] else one


def halves_under_two_indexes(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for number, (id, name, text) in enumerate(calls):
        half = (at[0] if at else 1) % (len(text) + 1)
        yield entry(2 * number, id, name, text[:half])
        yield entry(2 * number + 1, id, None, text[half:])


def named_halves_under_two_indexes(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for one in halves_under_two_indexes(calls, at):
        yield {**one, "function": {**one["function"], "name": calls[one["index"] // 2][1]}}


def arguments_said_twice(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for index, (id, name, text) in enumerate(calls):
        yield entry(index, id, name, "")
        yield from (entry(index, text=piece) for piece in cut(text, at))
        yield entry(index, text=text)


def everything_said_twice(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for index, (id, name, text) in enumerate(calls):
        yield entry(index, id, name, text)
        yield entry(index, id, name, text)


# these cannot tell two equal calls from one that is said twice


def names_alone(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for _, name, text in calls:
        first, *rest = cut(text, at)
        yield entry(None, None, name, first)
        yield from (entry(None, text=piece) for piece in rest)


def one_id_and_index_for_all(calls: list[Made], at: list[int]) -> Iterator[Entry]:
    for _, name, text in calls:
        first, *rest = cut(text, at)
        yield entry(0, "call_x", name, first)
        yield from (entry(0, "call_x", text=piece) for piece in rest)


Habit = Callable[[list[Made], list[int]], Iterator[Entry]]
HABITS: list[Habit] = [
    by_the_book,
    interleaved,
    whole_calls,
    index_always_zero,
    index_always_zero_with_ids_interleaved,
    indexes_as_text,
    indexes_as_fractions,
    heads_without_index,
    a_placeholder_behind_each,
    a_placeholder_in_pieces_behind_each,
    no_index,
    no_ids,
    empty_ids_after_the_first,
    id_changes_after_the_head,
    id_changes_with_every_piece,
    late_ids,
    name_with_every_piece,
    id_and_name_with_every_piece,
    name_in_pieces,
    name_growing,
    name_at_the_end,
    name_at_the_end_at_index_zero,
    name_at_the_end_and_ids_everywhere,
    a_last_word_under_another_id,
    arguments_only_at_the_end,
    arguments_as_objects,
    a_new_index_for_every_piece,
    heads_at_zero_and_tails_at_their_index,
    halves_under_two_indexes,
    named_halves_under_two_indexes,
    arguments_said_twice,
    everything_said_twice,
]


@settings(max_examples=40)
@given(made_calls(), cuts)
def test_a_servers_habit_does_not_change_its_calls(calls: list[Made], at: list[int]):
    for habit in HABITS:
        assert read(calls_of(list(habit(calls, at)))) == meaning(calls), habit.__name__


@pytest.mark.parametrize("habit", [names_alone, one_id_and_index_for_all])
@given(made_calls(different=True), cuts)
def test_calls_that_only_their_names_tell_apart_come_out(
    habit: Habit, calls: list[Made], at: list[int]
):
    follow = pairwise(meaning(calls)) if habit is one_id_and_index_for_all else ()
    # empty arguments before or behind others of the same call are no call
    assume(not any({} in (one[1], other[1]) and one[0] == other[0] for one, other in follow))
    assert read(calls_of(list(habit(calls, at)))) == meaning(calls)


@given(made_calls(), cuts)
def test_ids_are_those_of_the_first_piece(calls: list[Made], at: list[int]):
    for habit in (by_the_book, id_changes_after_the_head, late_ids, index_always_zero):
        assert [call.id for call in calls_of(list(habit(calls, at)))] == [id for id, _, _ in calls]


@given(made_calls(), cuts, st.data())
def test_a_placeholder_for_the_arguments_is_replaced_by_them(
    calls: list[Made], at: list[int], data: st.DataObject
):
    rows: list[list[Entry]] = []
    has_index, has_id, has_name = (data.draw(st.booleans()) for _ in range(3))
    for number, (id, name, text) in enumerate(calls):
        index = number if has_index else None
        parts = data.draw(st.sampled_from([["{}"], ["{ }\n"], ["", " {", "}"], ["null"], [{}]]))
        rows.append([entry(index, id, name, parts[0])])
        rows[-1] += [entry(index, text=part) for part in parts[1:]]
        named = name if has_name and (has_index or has_id) else None
        rows[-1] += [entry(index, id if has_id else None, named, one) for one in cut(text, at)]
    entries: list[Entry] = []
    while rows:
        row = data.draw(st.sampled_from(rows)) if has_index else rows[0]
        entries.append(row.pop(0))
        rows = [one for one in rows if one]
    read_calls = calls_of(entries)
    assert sorted(map(repr, read(read_calls))) == sorted(map(repr, meaning(calls)))
    assert {call.id for call in read_calls} == {id for id, _, _ in calls}


@given(made_calls(least=2), cuts, st.booleans(), st.booleans())
def test_without_indexes_the_position_in_the_list_tells_calls_apart(
    calls: list[Made], at: list[int], has_names: bool, starts_together: bool
):
    heads = [entry(None, id, name, "") for id, name, _ in calls]
    lists = [heads] if starts_together else [[one] for one in heads]
    if not starts_together:
        lists.append([entry(None, id, None, "") for id, _, _ in calls])
    rows = [cut(text, at) for _, _, text in calls]
    for texts in zip_longest(*rows, fillvalue=""):
        named = [name if has_names else None for _, name, _ in calls]
        lists.append(
            [entry(None, None, name, text) for name, text in zip(named, texts, strict=True)]
        )
    assert read(calls_of_lists(lists)) == meaning(calls)


@given(names, objects, st.booleans())
def test_one_id_at_two_indexes_is_two_calls_if_both_have_the_name(
    name: str, text: str, is_last: bool
):
    assume(json.loads(text))
    texts = ["{}", text]
    if is_last:
        texts.reverse()
    both = [entry(number, "a", name, one) for number, one in enumerate(texts)]
    assert [args for _, args in read(calls_of(both))] == [json.loads(one) for one in texts]
    # without its name again, the second piece is the rest of the first
    rest = [entry(0, "a", name, "{}"), entry(1, "a", None, text)]
    assert read(calls_of(rest)) == [(name, json.loads(text))]


@given(st.sampled_from(["{}", "null"]), objects)
def test_an_object_replaces_a_placeholder_of_text(placeholder: str, text: str):
    [call] = calls_of([entry(0, "a", "f", placeholder), entry(0, text=json.loads(text))])
    assert json.loads(str(call.arguments)) == json.loads(text)


ENTRIES = st.lists(
    st.builds(
        entry,
        st.none() | st.integers(-1, 2),
        st.sampled_from([None, "", "a", "b"]),
        st.sampled_from([None, "", "f", "g"]),
        st.sampled_from([None, "", "{", "}", '{"a":', "1}", "{}", '"', "\\", [1], {"x": 1}, 5]),
    ),
    max_size=8,
)


@given(ENTRIES)
def test_nothing_that_a_server_sends_makes_it_fail(entries: list[Entry]):
    calls = calls_of(entries)
    assert len({call.id for call in calls}) == len(calls)
    sent = "".join(text for one in entries if isinstance(text := one["function"]["arguments"], str))
    assert sum(len(str(call.arguments)) for call in calls) <= 2 * len(json.dumps(entries)) + len(
        sent
    )


def test_a_call_without_arguments_has_none() -> None:
    [call] = calls_of([entry(0, "a", "now"), entry(0, "a", "now", "")])
    assert (call.name, call.arguments) == ("now", "")


def test_two_calls_in_one_text_become_two_calls() -> None:
    calls = calls_of(
        [entry(0, "a", "f", '{"q": 1}'), entry(0, text='{"q": 2}'), entry(1, "b", "g")]
    )
    assert read(calls) == [("f", {"q": 1}), ("f", {"q": 2}), ("g", {})]


def test_a_tail_that_makes_no_sense_stays_with_its_call_to_be_refused() -> None:
    [call] = calls_of([entry(0, "a", "f", '{"q": 1}'), entry(0, text='{"q":')])
    assert call.arguments == '{"q": 1}{"q":'


def test_leftovers_of_a_call_are_kept_even_if_they_come_alone() -> None:
    google = {"google": {"thought_signature": "c2ln"}}
    head = {**entry(0, "a", "f", "{}"), "extra_content": google}
    late = {"index": 0, "more": 1}
    [call] = calls_of([head, late])
    assert call.provider_options == {"extra_content": google, "more": 1}


def test_a_surrogate_pair_cut_in_two_is_put_together() -> None:
    head, tail = '{"a": "\ud83d', '\udc31"}'
    tracker = CallTracker()
    deltas = [*tracker.feed(entry(0, "a", "f", head)), *tracker.feed(entry(0, text=tail))]
    assert assemble([*deltas, Finish("stop")]).tool_calls[0].arguments == '{"a": "🐱"}'


def test_arguments_that_are_a_list_stay_visible_as_such() -> None:
    assert calls_of([entry(0, "a", "f", [1, 2])])[0].arguments == "[1,2]"


@given(made_calls(), cuts, st.booleans())
def test_pieces_that_repeat_all_arguments_so_far_are_one_call(
    made: list[Made], at: list[int], has_id: bool
) -> None:
    tracker, deltas = CallTracker(), list[Delta]()
    for index, (id, name, text) in enumerate(made):
        ends = sorted({min(one, len(text)) for one in at} | {1, len(text)})
        sent = [text[:end] for end in ends if not re.search(r'[:\[,]\s*$|^\{\s*"$', text[:end])]
        assume(
            not re.match(r'\{\s*"[\s,:}\]]', text)
        )  # `{` and what follows a key can be a key's end
        for number, part in enumerate(sent):
            head = {"id": id} if has_id or not number else {}
            function = {"arguments": part, **({} if number else {"name": name})}
            deltas += tracker.feed({"index": index, **head, "function": function})
    reply = assemble([*deltas, *tracker.finish(), Finish("tool_calls")])
    read = [(call.name, json.loads(str(call.arguments))) for call in reply.tool_calls]
    assert read == [(name, json.loads(text)) for _, name, text in made]
