"""Reads Responses answers, whole and streamed, as deltas.

An answer is a list of output items. A stream tells of each item where it begins, piece by piece
and once more when it is done, and at the end there is the whole answer again; servers leave out
any of these. Items are told apart by their place, ``output_index``, since they may be interleaved.
Whatever stands in a later, more complete form and has not been said yet is said then. If the last
form contradicts the pieces, it counts: then the whole message follows the deltas.

What a program does not know (items of the server's own tools, citations, ids, encrypted
reasoning) is kept in the reply's ``provider_options["openai-responses"]["output"]``, in which ``"call"``
stands for the message's calls, one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from toolkeel._records.record import NOTHING
from toolkeel.agent.reply_assembly import assemble
from toolkeel.messages import AssistantMessage, FinishReason
from toolkeel.model_interface import CallDelta, Delta, ReasoningDelta, TextDelta
from toolkeel.providers.openai_responses.item_matching import (
    find_done_item,
    is_same_item,
    match_items,
)
from toolkeel.providers.openai_responses.native_calls import NATIVE, as_function_call
from toolkeel.providers.openai_responses.profile import (
    CALLS,
    INCOMPLETE,
    WIRE,
    call_extra,
    part_text,
    place_of,
    refuses,
    spoken,
    usage_of,
)
from toolkeel.providers.wire.decoder import BREAK, Block, Decoder
from toolkeel.providers.wire.part_order import CALL
from toolkeel.providers.wire.plain_json import (
    Json,
    as_dict,
    as_list,
    as_text,
    by_word,
    clean_text,
    extra_under,
    input_text,
    response_of,
)
from toolkeel.providers.wire.server_errors import incomplete_response, sent_error
from toolkeel.providers.wire.tools import WireTools

_ENDS = frozenset({"failed", "incomplete", "cancelled"})
_TOLD_FIRST = ("call_id", "name", "namespace", NATIVE)


class OpenItem(Block):
    """An output item whose pieces are still coming; `number` counts the calls of the reply."""

    __slots__ = ("place", "section")

    def __init__(self, wire: Json, number: int) -> None:
        super().__init__(wire)
        self.number, self.place = number, 0
        self.section: object = None
        """Which part of the reasoning is coming."""

    @property
    def type(self) -> str:
        return as_text(self.wire.get("type"))

    def text(self) -> str:
        """What the item itself says, thinks or argues, once it is whole."""
        if self.type in CALLS:
            value = self.wire.get(CALLS[self.type])
            return input_text(value) if value else ""
        if self.type == "reasoning":
            parts = [*as_list(self.wire.get("summary")), *as_list(self.wire.get("content"))]
            return BREAK.join(text for part in parts if (text := part_text(part)))
        return spoken(self.wire)

    def complete(self) -> None:
        """Put what was only said in pieces into the item's own form."""
        said = "".join(self.pieces)
        if said and not self.text():
            if self.type in CALLS:
                self.wire = {**self.wire, CALLS[self.type]: said}
            elif self.type == "message":
                part = {"type": "output_text", "text": said, "annotations": []}
                self.wire = {**self.wire, "role": "assistant", "content": [part]}

    def separator(self, section: object) -> str:
        """What stands before a piece of reasoning: a blank line if another part begins."""
        begins = self.section is not None and self.section != section and bool(self.pieces)
        self.section = section
        return BREAK if begins else ""


class StreamDecoder(Decoder):
    """Events in, deltas out, nothing else: feed it from any client, sync or async.

    Args:
        tools: The tools as they were sent; then calls carry their own names again.

    >>> decoder = StreamDecoder()
    >>> decoder.feed({"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"})
    [TextDelta(text='Hi')]
    >>> decoder.finish()  # there was no response.completed: it was cut off
    []
    """

    target = WIRE
    usage_of = staticmethod(usage_of)

    def __init__(self, tools: WireTools | None = None, model: str = "") -> None:
        super().__init__(tools, model)
        self._items: dict[int, OpenItem] = {}
        self._by_index: dict[int, OpenItem] = {}
        self._status = ""
        self._refused = False
        self._contradicted = False
        self._last_place: dict[str, int] = {}
        self._stored = False

    def take(self, data: Json) -> list[Delta]:
        """The deltas in one event; a whole response is one."""
        kind = as_text(data.get("type"))
        if kind == "error":
            raise sent_error(data)
        if data.get("object") == "response":
            return self._response(data)
        handler = _HANDLERS.get(kind)
        return handler(self, data) if handler is not None else []

    def read_response(self, reply: object) -> list[Delta]:
        """The deltas of a whole response.

        Raises:
            ModelError: if it failed, or is nothing that could be an answer.
        """
        data = response_of("openai_responses", reply)
        self._usage = as_dict(data.get("usage"))
        if data.get("error") or data.get("type") == "error":
            raise sent_error(data)
        if "output" not in data:
            raise incomplete_response("output", data)
        return self._response(data)

    def finish(self) -> list[Delta | AssistantMessage]:
        """What is left at the end. There is no `Finish` in it if the response did not end."""
        deltas = super().finish() if self.ended() else []
        numbers = [item.number for item in self._ordered() if item.type in CALLS]
        if deltas and (self._contradicted or numbers != sorted(numbers)):
            again = StreamDecoder(self._tools)
            last: list[Delta] = []
            for index, item in enumerate(self._ordered()):
                last += again._end_item({"output_index": index, "item": item.wire})
            deltas.append(assemble([*last, *deltas[-1:]]))
        return deltas

    def _response(self, response: Json) -> list[Delta]:
        """The deltas of a whole response."""
        self._begin({"response": response})
        self._reason = as_text(as_dict(response.get("incomplete_details")).get("reason"))
        self._status = as_text(response.get("status")) or "completed"
        self._usage = as_dict(response.get("usage")) or self._usage
        if self._status == "failed":
            raise sent_error(response if response.get("error") else {"message": self._reason})
        deltas: list[Delta] = []
        output = map(as_dict, as_list(response.get("output")))
        wires = [as_function_call(one, self._tools, whole=True) for one in output]
        found = match_items(self._items, wires)
        for index, (item, wire) in enumerate(zip(found, wires, strict=True)):
            deltas += self._last_form(index, wire, item)
        if self._status in ("queued", "in_progress"):  # it is a snapshot
            self._status = ""
        return deltas

    def rest(self) -> list[Delta]:
        """What was not said yet of items that the server left open."""
        return [delta for item in self._ordered() for delta in self._close(item)]

    def ended(self) -> bool:
        """Whether the response is over."""
        return bool(self._status)

    def why(self) -> FinishReason:
        """Why the response ended, by its status."""
        if self._status == "incomplete":
            return INCOMPLETE.get(self._reason, "length")
        if self._status != "completed":
            return "error"
        return "refusal" if self._refused else "tool_calls" if self._calls else "stop"

    def extra(self) -> Mapping[str, object]:
        """The items, and a status or reason that says more than ours."""
        extra: Json = {}
        output = [CALL if item.type in CALLS else item.wire for item in self._ordered()]
        if any(entry != CALL for entry in output):
            extra["output"] = output
        if self._stored:
            extra["store"] = True
        if self._status not in ("completed", "incomplete"):
            extra["status"] = self._status
        if self._reason not in ("", "max_output_tokens"):
            extra["reason"] = self._reason
        return extra_under(WIRE, extra)

    def _ordered(self) -> list[OpenItem]:
        return [self._items[index] for index in sorted(self._items)]

    # — events —

    def _begin(self, data: Json) -> list[Delta]:
        response = as_dict(data.get("response"))
        self._model = as_text(response.get("model")) or self._model
        self._stored = response.get("store") is True
        return []

    def _end(self, data: Json) -> list[Delta]:
        response = as_dict(data.get("response"))
        status = as_text(response.get("status"))
        if status not in _ENDS:
            status = as_text(data.get("type")).rpartition(".")[2]
        return self._response({**response, "status": status})

    def _start_item(self, data: Json) -> list[Delta]:
        wire = as_function_call(as_dict(data.get("item")), self._tools, whole=False)
        return self._open(place_of(data), wire) if wire else []

    def _end_item(self, data: Json) -> list[Delta]:
        wire = as_function_call(as_dict(data.get("item")), self._tools, whole=True)
        item = find_done_item(self._by_index, self._items, data.get("output_index"), wire)
        return self._last_form(place_of(data), wire, item)

    def _say_on(self, data: Json) -> list[Delta]:
        item, deltas = self._item(data, "message")
        self._check_order(item)
        return deltas + self._say(as_text(data.get("delta")), item.pieces)

    def _refuse(self, data: Json) -> list[Delta]:
        self._refused = True
        return self._say_on(data)

    def _think_on(self, data: Json) -> list[Delta]:
        item, deltas = self._item(data, "reasoning")
        key = "summary_index" if "summary_index" in data else "content_index"
        self._check_order(item)
        piece = item.separator((key, data.get(key))) + as_text(data.get("delta"))
        return deltas + self._think(piece, item.pieces)

    def _argue(self, data: Json) -> list[Delta]:
        kind = "custom_tool_call" if "custom_tool_call" in str(data["type"]) else "function_call"
        item, deltas = self._item(data, kind)
        text = item.arguments.feed(as_text(data.get("delta")))
        item.pieces.append(text)
        if text and not self._is_renamed(item):
            deltas.append(CallDelta(item.number, arguments=text))
        return deltas

    def _end_arguments(self, data: Json) -> list[Delta]:
        """The arguments once more, or for the first time."""
        kind = "custom_tool_call" if "custom_tool_call" in str(data["type"]) else "function_call"
        item, deltas = self._item(data, kind)
        text = data.get(CALLS[item.type]) if item.type in CALLS else None
        if isinstance(text, str) and text:
            item.wire = {**item.wire, CALLS[item.type]: text}
            deltas += self._missing(item)
        return deltas

    # — items —

    def _item(self, data: Json, kind: str) -> tuple[OpenItem, list[Delta]]:
        """The item an event is about; one whose start never came begins here."""
        index = data.get("output_index")
        found = self._by_index.get(index) if isinstance(index, int) else self._by_id(data)
        if found is not None:
            return found, []
        place = place_of(data) if isinstance(index, int) else len(self._items)
        deltas = self._open(place, {"type": kind, "id": data.get("item_id")})
        return self._by_index[place], deltas

    def _by_id(self, data: Json) -> OpenItem | None:
        id = data.get("item_id")
        named = [one for one in self._items.values() if id and one.wire.get("id") == id]
        return next((one for one in named if one.open), named[-1] if named else None)

    def _open(self, index: int, wire: Json) -> list[Delta]:
        known = self._by_index.get(index)
        if known is not None and is_same_item(known, wire):
            known.wire = {**known.wire, **wire} if known.open else known.wire
            return self._call(known) if known.open else []
        return self._add(index, wire)

    def _add(self, index: int, wire: Json) -> list[Delta]:
        item = self._by_index[index] = OpenItem(dict(wire), self._calls)
        item.place = index if index not in self._items else max(self._items) + 1
        self._items[item.place] = item
        self._calls += item.type in CALLS
        return self._call(item)

    def _call(self, item: OpenItem) -> list[Delta]:
        if item.type not in CALLS:
            return []
        id, name = as_text(item.wire.get("call_id")), as_text(item.wire.get("name"))
        extra = call_extra(item.wire) or NOTHING
        return [CallDelta(item.number, id, self._tools.name_of(name), "", extra)]

    def _last_form(self, index: int, wire: Json, item: OpenItem | None) -> list[Delta]:
        """Take an item as it is when done: whatever it says that was not said yet is said now."""
        if not wire:
            return []
        if item is not None and not item.open:
            return []
        deltas: list[Delta] = []
        if item is None:
            deltas += self._add(index, wire)
            item = self._by_index[index]
        else:
            before, item.wire = item.wire, dict(wire)
            if any(before.get(key) != wire.get(key) for key in _TOLD_FIRST):
                deltas += self._call(item)
        return deltas + self._close(item)

    def _close(self, item: OpenItem) -> list[Delta]:
        if not item.open:
            return []
        deltas = self._missing(item)
        item.complete()
        item.open = False
        self._refused = self._refused or refuses(item.wire)
        if item.type in CALLS and (self._is_renamed(item) or not "".join(item.pieces).strip()):
            text = "".join(item.pieces)
            if item.type == "function_call":
                text = self._tools.from_wire(self._name(item), text) if text.strip() else "{}"
            deltas.append(CallDelta(item.number, arguments=text))
        if item.type == "image_generation_call":
            form = as_text(item.wire.get("output_format")) or "png"
            self._show(item.wire.get("result"), f"image/{form}")
        secret = clean_text(as_text(item.wire.get("encrypted_content")))
        if item.type == "reasoning" and secret:
            self._last_thinking = None
            deltas.append(ReasoningDelta("", secret))
        return deltas

    def _missing(self, item: OpenItem) -> list[Delta]:
        """What an item's own form says beyond its pieces."""
        text, said = item.text(), "".join(item.pieces)
        if item.type not in CALLS:
            text = clean_text(text)
        if item.type not in {*CALLS, "message", "reasoning"} or not text or text == said:
            return []
        if not text.startswith(said):
            self._contradicted = self._contradicted or item.type != "reasoning"
            return []
        self._check_order(item)
        rest = text[len(said) :]
        if item.type == "reasoning":
            return self._think(rest, item.pieces)
        item.pieces.append(rest)
        if item.type == "message":
            return [TextDelta(rest)]
        return [] if self._is_renamed(item) else [CallDelta(item.number, arguments=rest)]

    def _check_order(self, item: OpenItem) -> None:
        """Note whether text of `item` follows that of an item behind it: calls have numbers."""
        if item.type not in CALLS:
            last = self._last_place.get(item.type, -1)
            self._contradicted = self._contradicted or item.place < last
            self._last_place[item.type] = max(last, item.place)

    def _name(self, item: OpenItem) -> str:
        return self._tools.name_of(as_text(item.wire.get("name")))

    def _is_renamed(self, item: OpenItem) -> bool:
        """Whether the call's properties have other names on the wire: then it is said whole."""
        return self._name(item) in self._tools.keys


_HANDLERS: Mapping[str, Callable[[StreamDecoder, Json], list[Delta]]] = by_word(
    {
        StreamDecoder._begin: "response.created response.in_progress",
        StreamDecoder._end: "response.completed response.incomplete response.failed "
        "response.cancelled",
        StreamDecoder._start_item: "response.output_item.added",
        StreamDecoder._end_item: "response.output_item.done",
        StreamDecoder._say_on: "response.output_text.delta",
        StreamDecoder._refuse: "response.refusal.delta",
        StreamDecoder._think_on: "response.reasoning_summary_text.delta "
        "response.reasoning_text.delta",
        StreamDecoder._argue: "response.function_call_arguments.delta "
        "response.custom_tool_call_input.delta",
        StreamDecoder._end_arguments: "response.function_call_arguments.done "
        "response.custom_tool_call_input.done",
    }
)
