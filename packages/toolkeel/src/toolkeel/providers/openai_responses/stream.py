"""Decodes Responses answers, complete and streamed, into deltas.

An answer is a list of output items. A stream sends each item's start, its pieces and once more the
complete item, and at the end the complete answer again; servers omit any of these. Items are told
apart by ``output_index``, since they may be interleaved. Content of a later, more complete form that
was not emitted yet is emitted then. If the last form contradicts the pieces, it counts: then the
complete message follows the deltas.

Data that programs do not read (items of the server's own tools, citations, ids, encrypted reasoning)
is kept in the reply's ``provider_options["openai-responses"]["output"]``, in which ``"call"`` refers
to the message's calls, one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from toolkeel._records.record import NOTHING
from toolkeel.agent.reply_assembly import assemble
from toolkeel.messages import AssistantMessage, FinishReason
from toolkeel.model_interface import CallDelta, Delta, ReasoningDelta, TextDelta
from toolkeel.providers.openai_responses.item_matching import OpenItems, is_same_item
from toolkeel.providers.openai_responses.native_calls import NATIVE_KEY, to_function_call
from toolkeel.providers.openai_responses.open_item import OpenItem
from toolkeel.providers.openai_responses.profile import (
    CALLS,
    INCOMPLETE,
    WIRE,
    call_extra,
    is_refusal,
    output_index,
    output_items,
    parse_usage,
    part_text,
)
from toolkeel.providers.wire.decoder import Decoder
from toolkeel.providers.wire.part_order import CALL
from toolkeel.providers.wire.plain_json import (
    Json,
    arguments_piece,
    as_dict,
    as_id,
    as_text,
    clean_text,
    invert,
    parse_response,
    wire_options,
)
from toolkeel.providers.wire.server_errors import incomplete_response, reported_error
from toolkeel.providers.wire.tools import WireTools

_FAILED_STATUSES = frozenset({"failed", "incomplete", "cancelled"})
_GOOD_STATUSES = frozenset({"completed", "requires_action"})
_HEAD_KEYS = ("call_id", "name", "namespace", NATIVE_KEY)


class StreamDecoder(Decoder):
    """Turns events of an answer into deltas; works with any client, sync or async.

    Args:
        tools: The tools as they were sent; calls get the tools' own names back.

    >>> decoder = StreamDecoder()
    >>> decoder.feed({"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"})
    [TextDelta(text='Hi')]
    >>> decoder.finish()  # there was no response.completed: it was cut off
    []
    """

    target = WIRE
    parse_usage = staticmethod(parse_usage)

    def __init__(self, tools: WireTools | None = None, model: str = "") -> None:
        super().__init__(tools, model)
        self._items = OpenItems()
        self._status = ""
        self._refused = False
        self._contradicted = False
        self._last_place: dict[str, int] = {}
        self._is_stored: bool | None = None
        """None if the server does not say."""
        self._response_id = ""

    def handle_event(self, data: Json) -> list[Delta]:
        """Return the deltas of an event or complete response; raise `ModelError` if it failed."""
        kind = as_text(data.get("type"))
        if kind == "error":
            raise reported_error(data)
        if data.get("object") == "response":
            return self._read_response(data)
        handler = _HANDLERS.get(kind)
        return handler(self, data) if handler is not None else []

    def read_response(self, reply: object) -> list[Delta]:
        """Decode a complete response into deltas, and record its usage and status.

        Raises:
            ModelError: if it failed, or cannot be an answer.
        """
        data = parse_response("openai_responses", reply)
        self._usage = as_dict(data.get("usage"))
        if data.get("error") or data.get("type") == "error":
            raise reported_error(data)
        if "output" not in data:
            raise incomplete_response("output", data)
        return self._read_response(data)

    def finish(self) -> list[Delta | AssistantMessage]:
        """Return the remaining deltas, none for a cut-off response; last a complete message if others were wrong."""
        deltas = super().finish() if self.is_ended() else []
        numbers = [item.call_index for item in self._items.in_order() if item.type in CALLS]
        if deltas and (self._contradicted or numbers != sorted(numbers)):
            again, last = StreamDecoder(self._tools), list[Delta]()
            for index, item in enumerate(self._items.in_order()):
                last += again._end_item({"output_index": index, "item": item.wire})
            deltas.append(assemble([*last, *deltas[-1:]]))
        return deltas

    def _read_response(self, response: Json) -> list[Delta]:
        """Decode a complete response into deltas; record its status, or raise `ModelError`."""
        self._start_response({"response": response})
        self._reason = as_text(as_dict(response.get("incomplete_details")).get("reason"))
        self._status = as_text(response.get("status")) or "completed"
        self._usage = as_dict(response.get("usage")) or self._usage
        if self._status == "failed":
            raise reported_error(
                response
                if response.get("error")
                else {"message": self._reason, "code": self._reason}
            )
        deltas: list[Delta] = []
        output = output_items(response)
        wires = [to_function_call(one, self._tools, is_complete=True) for one in output]
        found = self._items.match(wires)
        for index, (item, wire) in enumerate(zip(found, wires, strict=True)):
            deltas += self._read_final_item(index, wire, item)
        if self._status in ("queued", "in_progress"):  # it is a snapshot
            self._status = ""
        return deltas

    def remaining_deltas(self) -> list[Delta]:
        """Close the items that the server left open, and return their deltas."""
        return [delta for item in self._items.in_order() for delta in self._close_item(item)]

    def is_ended(self) -> bool:
        """Return True if the response is complete."""
        return bool(self._status)

    def finish_reason(self) -> FinishReason:
        """Return why the response ended, by its status: "error" for an unlisted or missing one."""
        if self.mistake():
            return "error"
        if self._status == "incomplete":
            return INCOMPLETE.get(self._reason, "length")
        if self._status not in _GOOD_STATUSES:
            return "error"
        return "refusal" if self._refused else "tool_calls" if self._call_count else "stop"

    def provider_options(self) -> Mapping[str, object]:
        """Return the items but calls, the id of a stored response, and a status or reason more precise than ours."""
        extra: Json = {}
        output = [CALL if item.type in CALLS else item.wire for item in self._items.in_order()]
        if any(entry != CALL for entry in output):
            extra["output"] = output
        if self._is_stored is not False and self._response_id:
            extra |= {"id": self._response_id, **({"store": True} if self._is_stored else {})}
        if self._status not in _GOOD_STATUSES | {"incomplete"}:
            extra["status"] = self._status
        if self._reason not in ("", "max_output_tokens"):
            extra["reason"] = self._reason
        return wire_options(WIRE, extra)

    # — events —

    def _start_response(self, data: Json) -> list[Delta]:
        """Record the response's model, id and storage; return no deltas."""
        response = as_dict(data.get("response"))
        self._model = as_text(response.get("model")) or self._model
        if response.get("store") is not None:
            self._is_stored = response["store"] is True
        self._response_id = as_text(response.get("id")) or self._response_id
        return []

    def _end_response(self, data: Json) -> list[Delta]:
        """Decode the final form of the response by its status or the event's type; raise `ModelError` if it failed."""
        response = as_dict(data.get("response"))
        status = as_text(response.get("status"))
        if status not in _FAILED_STATUSES:
            status = as_text(data.get("type")).rpartition(".")[2].replace("done", "completed")
        return self._read_response({**response, "status": status})

    def _start_item(self, data: Json) -> list[Delta]:
        """Register an item that starts; return the first delta of a call."""
        wire = to_function_call(as_dict(data.get("item")), self._tools, is_complete=False)
        return self._open_item(output_index(data), wire) if wire else []

    def _end_item(self, data: Json) -> list[Delta]:
        """Read the final form of an item; return the deltas that its pieces did not have."""
        wire = to_function_call(as_dict(data.get("item")), self._tools, is_complete=True)
        item = self._items.find_done(data.get("output_index"), wire)
        return self._read_final_item(output_index(data), wire, item)

    def _extend_text(self, data: Json) -> list[Delta]:
        """Store a piece of text and return its delta; register its item if its start never came."""
        item, deltas = self._item_of(data, "message")
        self._check_order(item)
        piece = as_text(data.get("delta"))
        item.part(data).append(piece)
        return deltas + self._text_delta(piece, item.pieces)

    def _extend_refusal(self, data: Json) -> list[Delta]:
        """Record a refusal; return its piece as a text delta."""
        self._refused = True
        return self._extend_text(data)

    def _add_citation(self, data: Json) -> list[Delta]:
        """Store a citation in its message item, and return no deltas."""
        item, deltas = self._item_of(data, "message")
        if citation := as_dict(data.get("annotation")):
            item.citations.append((data.get("content_index", 0), citation))
        return deltas

    def _extend_reasoning(self, data: Json) -> list[Delta]:
        """Store a piece of reasoning and return its delta, with a blank line between parts."""
        item, deltas = self._item_of(data, "reasoning")
        self._check_order(item)
        part, piece = item.part(data), as_text(data.get("delta"))
        part.append(piece)
        return deltas + self._thinking_delta(item.separator(part) + piece, item.pieces)

    def _end_part(self, data: Json) -> list[Delta]:
        """Store what a part's last form has beyond its pieces, like a piece, and return its delta."""
        part = as_dict(data.get("part")) or data
        is_refused = "refusal" in part
        extend = StreamDecoder._extend_refusal if is_refused else StreamDecoder._extend_text
        kind, text = "message", part_text(part)
        if "reasoning" in str(data["type"]) or part.get("type") == "reasoning_text":
            kind, extend = "reasoning", StreamDecoder._extend_reasoning
        item = self._items.find(data, kind)
        received = "".join(item.part(data)) if item is not None else ""
        is_open = item is None or (item.is_open and item.type == kind)
        if not is_open or text == received or not text.startswith(received):
            return []  # the item's own last form decides
        return extend(self, {**data, "delta": text[len(received) :]})

    def _arguments_delta(self, data: Json) -> list[Delta]:
        """Store a piece of arguments and return its delta; none yet if properties are renamed."""
        kind = "custom_tool_call" if "custom_tool_call" in str(data["type"]) else "function_call"
        item, deltas = self._item_of(data, kind)
        text = item.arguments.feed(arguments_piece(data.get("delta")))
        if not item.pieces and kind == "function_call" and text.strip() == "{}":
            return deltas  # it is all there is, or a proxy's placeholder before the arguments
        item.pieces.append(text)
        if text and not self._is_renamed(item):
            deltas.append(CallDelta(item.call_index, arguments=text))
        return deltas

    def _end_arguments(self, data: Json) -> list[Delta]:
        """Store arguments that arrive complete; return deltas of what of them is new."""
        kind = "custom_tool_call" if "custom_tool_call" in str(data["type"]) else "function_call"
        item, deltas = self._item_of(data, kind)
        head = {key: data[key] for key in _HEAD_KEYS if data.get(key) and not item.wire.get(key)}
        if head and item.type in CALLS:
            item.wire |= head
            deltas += self._call_delta(item)
        text = data.get(CALLS[item.type]) if item.type in CALLS else None
        if isinstance(text, str) and text:
            item.wire = {**item.wire, CALLS[item.type]: text}
            deltas += self._missing_text(item)
        return deltas

    # — items —

    def _item_of(self, data: Json, kind: str) -> tuple[OpenItem, list[Delta]]:
        """Return the item of an event; register it if its start never came, with the deltas of that."""
        found = self._items.find(data, kind)
        if found is not None:
            return found, []
        wire = {"type": kind, "id": data.get("item_id")}
        item = self._add_item(self._items.free_index(data), wire)
        return item, self._call_delta(item)

    def _open_item(self, index: int, wire: Json) -> list[Delta]:
        """Register an item, or update the open one at its index; return a call's delta."""
        known = self._items.at(index)
        if known is not None and is_same_item(known, wire):
            known.wire = {**known.wire, **wire} if known.is_open else known.wire
            return self._call_delta(known) if known.is_open else []
        return self._call_delta(self._add_item(index, wire))

    def _add_item(self, index: int, wire: Json) -> OpenItem:
        """Register a new item at an index, and return it."""
        item = self._items.add(index, wire, self._call_count)
        self._call_count += item.type in CALLS
        return item

    def _call_delta(self, item: OpenItem) -> list[Delta]:
        """Return the first delta of a call, with id and name; none for any other item."""
        if item.type not in CALLS:
            return []
        id, name = as_id(item.wire.get("call_id")), as_text(item.wire.get("name"))
        extra = call_extra(item.wire) or NOTHING
        return [CallDelta(item.call_index, id, self._tools.name_of(name), "", extra)]

    def _read_final_item(self, index: int, wire: Json, item: OpenItem | None) -> list[Delta]:
        """Store an item's final form, unless empty, and close it; return deltas not emitted yet. None: a new item."""
        if not wire:
            return []
        if item is not None and not item.is_open:
            return []
        deltas: list[Delta] = []
        if item is None:
            item = self._add_item(index, wire)
            deltas += self._call_delta(item)
        else:
            before, item.wire = item.wire, dict(wire)
            if any(before.get(key) != wire.get(key) for key in _HEAD_KEYS):
                deltas += self._call_delta(item)
        return deltas + self._close_item(item)

    def _close_item(self, item: OpenItem) -> list[Delta]:
        """Close an item; return deltas not emitted yet, such as renamed arguments."""
        if not item.is_open:
            return []
        deltas = self._missing_text(item)
        item.complete_wire()
        item.is_open = False
        self._refused = self._refused or is_refusal(item.wire)
        text, is_function = "".join(item.pieces), item.type == "function_call"
        is_missing = is_function and not text.strip()  # a freeform text may be blank
        if item.type in CALLS and (self._is_renamed(item) or is_missing):
            if is_function:
                text = self._tools.from_wire(self._tool_name(item), text) if text.strip() else "{}"
            deltas.append(CallDelta(item.call_index, arguments=text))
        if item.type == "image_generation_call":
            form = as_text(item.wire.get("output_format")) or "png"
            self._add_media(item.wire.get("result"), f"image/{form}")
        secret = clean_text(as_text(item.wire.get("encrypted_content")))
        if item.type == "reasoning" and secret:
            self._last_thinking = None
            deltas.append(ReasoningDelta("", secret))
        return deltas

    def _missing_text(self, item: OpenItem) -> list[Delta]:
        """Append and return content that an item's pieces lack; no delta if it contradicts them."""
        text, received = item.full_text(), "".join(item.pieces)
        if item.type not in CALLS:
            text = clean_text(text)
        if item.type not in {*CALLS, "message", "reasoning"} or not text or text == received:
            return []
        if not text.startswith(received):
            self._contradicted = self._contradicted or item.type != "reasoning"
            return []
        self._check_order(item)
        rest = text[len(received) :]
        if item.type == "reasoning":
            return self._thinking_delta(rest, item.pieces)
        item.pieces.append(rest)
        if item.type == "message":
            return [TextDelta(rest)]
        return [] if self._is_renamed(item) else [CallDelta(item.call_index, arguments=rest)]

    def _check_order(self, item: OpenItem) -> None:
        """Record a contradiction if text of `item` arrives after that of a later item."""
        if item.type not in CALLS:
            last = self._last_place.get(item.type, -1)
            self._contradicted = self._contradicted or item.place < last
            self._last_place[item.type] = max(last, item.place)

    def _tool_name(self, item: OpenItem) -> str:
        """Return the tool's own name for a call item."""
        return self._tools.name_of(as_text(item.wire.get("name")))

    def _is_renamed(self, item: OpenItem) -> bool:
        """Return True if the call's properties are renamed; then it is emitted at once."""
        return self._tool_name(item) in self._tools.keys


_HANDLERS: Mapping[str, Callable[[StreamDecoder, Json], list[Delta]]] = invert(
    {
        StreamDecoder._start_response: "response.created response.in_progress",
        StreamDecoder._end_response: "response.completed response.incomplete response.failed "
        "response.cancelled response.done",
        StreamDecoder._start_item: "response.output_item.added",
        StreamDecoder._end_item: "response.output_item.done",
        StreamDecoder._extend_text: "response.output_text.delta",
        StreamDecoder._extend_refusal: "response.refusal.delta",
        StreamDecoder._add_citation: "response.output_text.annotation.added",
        StreamDecoder._extend_reasoning: "response.reasoning_summary_text.delta "
        "response.reasoning_text.delta",
        StreamDecoder._end_part: "response.output_text.done response.refusal.done "
        "response.content_part.done response.reasoning_summary_text.done "
        "response.reasoning_summary_part.done response.reasoning_text.done",
        StreamDecoder._arguments_delta: "response.function_call_arguments.delta "
        "response.custom_tool_call_input.delta",
        StreamDecoder._end_arguments: "response.function_call_arguments.done "
        "response.custom_tool_call_input.done",
    }
)
