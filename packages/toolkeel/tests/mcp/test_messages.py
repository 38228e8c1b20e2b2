"""Messages as bytes: strict where that is possible, mended where one character is at fault."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import InitializeResult, JSONRPCError, JSONRPCResponse

from toolkeel.mcp.messages import (
    MAX_DEPTH,
    limit_depth,
    read_message,
    read_response,
    read_server_message,
    repair_event,
    repair_handshake,
    repair_response_body,
    replace_lone_surrogates,
    unreadable_reason,
    visible_id,
)


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=30))
def test_any_text_can_be_read_once_halves_are_replaced(text: str) -> None:
    mended = replace_lone_surrogates(json.dumps(text).encode())
    read = json.loads(mended)
    read.encode()
    assert read == "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in _paired(text))


def _paired(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@pytest.mark.parametrize(
    "said", [b'"a \\ud83d b"', b'"a \xff b"', b'"a \xed\xa0\xbd b"', b'"a \xf0\x9f b"']
)
def test_a_message_with_half_a_character_is_read(said: bytes) -> None:
    line = b'{"jsonrpc":"2.0","id":1,"result":{"text":' + said + b"}}"
    message = read_message(line)
    assert "\ufffd" in message.model_dump()["result"]["text"]


@pytest.mark.parametrize("line", [b"{", b"[]", b"{}", b"null", b'{"jsonrpc":"1.0","id":1}'])
def test_what_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):
        read_message(line)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ('"no disk"', (-32603, "no disk")),
        ('{"message": "no disk"}', (-32603, "no disk")),
        ('{"code": 7}', (7, '{"code":7}')),
        ('{"code": "E1", "message": {"a": 1}}', (-32603, '{"a":1}')),
        ('{"code": 7, "message": null, "data": "no disk"}', (7, "no disk")),
        ("{}", (-32603, "{}")),
    ],
)
def test_an_error_of_another_form_says_what_it_said(error: str, said: tuple[int, str]) -> None:
    message = read_server_message(b'{"jsonrpc":"2.0","id":1,"error":%s}' % error.encode())
    assert isinstance(message, JSONRPCError)
    assert (message.error.code, message.error.message) == said


def test_a_mark_of_the_order_of_bytes_is_no_part_of_a_message() -> None:
    message = read_message('\ufeff{"jsonrpc":"2.0","id":1,"result":{}}'.encode())
    assert isinstance(message, JSONRPCResponse)


JSON = st.recursive(
    st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=9
)


@given(JSON, st.integers(1, 400))
def test_what_is_nested_too_deeply_costs_itself(value: object, levels: int) -> None:
    beside = json.dumps(value, ensure_ascii=True)
    line = b'{"deep":%s,"beside":%s}' % (b"[" * levels + b"]" * levels, beside.encode())
    read = read_response(line)
    assert isinstance(read, dict) and read["beside"] == read_response(beside.encode())
    said = "nested too deeply" in str(read["deep"])
    assert said if levels > 200 else not said or levels > MAX_DEPTH


@pytest.mark.parametrize("text", [b"[" * 500, b"]" * 500, b'"' + b"[" * 500, b'{"a":' * 300])
def test_what_is_no_json_is_not_made_one(text: bytes) -> None:
    with pytest.raises(ValueError):
        read_response(limit_depth(text))


FINE = b'{"jsonrpc": "2.0", "id": 1, "result": {}}'


@pytest.mark.parametrize(
    ("body", "read"),
    [
        (FINE, FINE),
        (b"\xef\xbb\xbf" + FINE, FINE),
        (b"[" + FINE + b"]", FINE),
        (b"[" + FINE.replace(b"{}", b'{"a": 1}').replace(b"1,", b"2,") + b"," + FINE + b"]", FINE),
        (FINE.replace(b'"jsonrpc": "2.0", ', b""), FINE),
        (FINE.replace(b"{}", b"null"), FINE),
        (FINE.replace(b"1", b"99"), FINE),
        (b"{", b"{"),
    ],
)
def test_a_body_is_read_as_a_line_is_and_what_is_no_message_stays(body: bytes, read: bytes) -> None:
    said = repair_response_body(body, b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
    assert said == read or json.loads(said) == json.loads(read)


PARTS = FINE.replace(b", ", b",\n")


@pytest.mark.parametrize(
    ("block", "read"),
    [
        (b"data: " + FINE, FINE),
        (b"id: 7\r\ndata: " + FINE, b"id: 7" + FINE),
        (b"\xef\xbb\xbfDATA:" + FINE, FINE),
        (b"event: result\n" + FINE, FINE),
        (b"data: " + PARTS, FINE),
        (b"data: " + PARTS.replace(b"\n", b"\rdata: "), FINE),
        (FINE.replace(b"{}", b'{"a": "b\nc"}'), FINE.replace(b"{}", b'{"a": "b\\nc"}')),
        (b"data:" + FINE.replace(b"{}", b"null"), FINE),
        (b"data: " + FINE.replace(b'"jsonrpc": "2.0", ', b""), FINE),
        (b"data: " + FINE.replace(b'"id": 1', b'"id": null'), FINE.replace(b"1", b"0")),
        (b"data: [" + FINE + b"," + FINE + b"]", FINE + FINE),
        (b"data: " + FINE + b"\ndata: " + FINE, FINE + FINE),
        (b'data: {"method": "notifications/x", "params": [1], "jsonrpc": "2.0"}', b""),
        (b"data: hello", b""),
        (b"data: {", b""),
    ],
)
def test_an_event_holds_what_can_be_read_of_it(block: bytes, read: bytes) -> None:
    said = b"".join(repair_event(block).replace(b"data:", b"").split())
    assert said == b"".join(read.split())


@pytest.mark.parametrize(
    "block",
    [
        b"event: message\nid: 1",
        b": {}",
        b"data:",
        b"",
        b"event: endpoint\ndata: /a?b",
        b'data: {"jsonrpc": "2.0", "id": 1, "result": {',
    ],
)
def test_an_event_that_holds_no_message_stays(block: bytes) -> None:
    assert repair_event(block) == block


@given(st.integers(-(10**15), 10**15) | st.text(max_size=5), st.integers(1, 40), st.booleans())
def test_the_id_of_a_broken_line_is_the_one_it_shows_or_none(
    id: object, cut: int, escaped: bool
) -> None:
    inner = {"id": "inner", "arguments": {"id": 3}}
    line = json.dumps(
        {"jsonrpc": "2.0", "id": id, "method": "a", "params": inner}, ensure_ascii=escaped
    )
    assert visible_id(line.encode()[:-cut]) == id


def test_an_id_that_is_not_the_requests_own_is_none() -> None:
    for line in (
        b'{"params": {"id": 3',
        b'[{"id": 1',
        b'{"text": "\\"id\\": 4", ',
        b"nothing",
        b'{"id": 1.5',
    ):
        assert visible_id(line) is None


def test_a_reason_names_the_field_and_no_library() -> None:
    for line, why in [
        (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', "method: "),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "a", "params": 7}', "params: "),
        (b"{", "EOF while parsing"),
    ]:
        with pytest.raises(ValueError) as caught:
            read_message(line)
        reason = unreadable_reason(caught.value)
        assert reason.startswith(why) and "JSONRPC" not in reason and "validation" not in reason


ODD_FIELDS = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(
    st.none(), max_size=1
)  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(["protocolVersion", "serverInfo", "instructions"]), ODD_FIELDS),
    ODD_FIELDS | st.dictionaries(st.sampled_from(["tools", "prompts", "resources"]), ODD_FIELDS),
)
def test_a_handshake_with_odd_fields_is_one(fields: dict[str, object], stated: object) -> None:
    result = {"protocolVersion": "2025-06-18", **fields, "capabilities": stated}
    repair_handshake(result)
    read = InitializeResult.model_validate(result)
    if isinstance(named := fields.get("protocolVersion"), str):
        assert read.protocol_version == named
    if isinstance(stated, dict):
        has = {key for key, each in stated.items() if each is not None and each is not False}
        assert read.capabilities.model_dump(exclude_none=True).keys() == has


def test_a_handshake_is_left_as_it_is_where_nothing_is_wrong_with_it() -> None:
    info = {"name": "s", "version": "1"}
    plain = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    newer = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "serverInfo": info}
    for result in (plain, newer):
        mended: dict[str, object] = dict(result)
        repair_handshake(mended)
        assert mended == result


def test_a_text_without_an_end_in_a_malformed_line_is_read_in_linear_time() -> None:
    with pytest.raises(ValueError, match="Expecting value"):
        read_server_message(b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 200 + b'\\"' * 200_000)
