"""One server's entry in a host's file: each key followed, left, refused or named."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import SetupError
from toolkeel.mcp.server_entries import parse_entry


@pytest.mark.parametrize("key", ["enabled", "disabled"])
def test_a_switch_that_is_no_switch_starts_nothing(key: str) -> None:
    with pytest.raises(SetupError, match=f"'{key}' is true or false"):
        parse_entry({"command": "x", key: "yes"}, "here")


@pytest.mark.parametrize(
    "key", ["sandboxEnabled", "sandbox", "headersHelper", "remote", "bearer_token"]
)
def test_what_would_confine_or_change_a_server_is_refused_by_name(key: str) -> None:
    with pytest.raises(SetupError, match=key):
        parse_entry({"command": "x", key: {"a": 1}}, "here")
    assert parse_entry({"command": "x", key: False}, "here").notes == ()


@pytest.mark.parametrize("key", ["trust", "autoApprove", "alwaysAllow"])
def test_what_another_host_approves_is_not_approved_here_and_that_is_said(key: str) -> None:
    assert parse_entry({"command": "x", key: True}, "here").notes == (
        f"{key!r} approves nothing here",
    )


@pytest.mark.parametrize("key", ["disabledTools", "excludeTools", "enabled_tools"])
@pytest.mark.parametrize("names", ["rm", {"rm": True}, ["rm", 1], 1])
def test_tools_that_are_named_otherwise_than_in_a_list_are_never_let_through(
    key: str, names: object
) -> None:
    with pytest.raises(SetupError, match=f"'{key}' is a list of names"):
        parse_entry({"command": "x", key: names}, "server 'a'")


def test_a_key_that_is_not_understood_is_named() -> None:
    assert parse_entry({"command": "x", "wat": 1}, "here").notes == ("'wat' is not understood",)


def test_a_timeout_is_in_milliseconds_where_it_can_be() -> None:
    assert [parse_entry({"timeout": n}, "here").timeout for n in (60, 60_000)] == [60, 60]


@pytest.mark.parametrize("key", ["timeout", "tool_timeout_sec", "startup_timeout_ms"])
@pytest.mark.parametrize("value", ["30s", -1, 0, True, [5], float("nan"), 10**400])
def test_a_time_that_is_none_is_named_and_costs_nothing_else(key: str, value: object) -> None:
    entry = parse_entry({"command": "x", key: value}, "here")
    assert entry.notes == (f"{key!r} is no time, and not followed",)
    assert (entry.timeout, entry.connect_timeout) == (None, None)


@pytest.mark.parametrize(
    ("written", "login", "unfollowed"),
    [
        ({"oauth": {"clientId": "me", "callbackPort": 8080}}, {"client_id": "me", "port": "8080"}, []),
        ({"oauth": {"enabled": True, "scopes": "a b"}}, {"scope": "a b"}, []),
        ({"auth": "oauth"}, {}, []),
        ({"auth": "a token"}, {}, ["auth"]),
        ({"oauth": True}, {}, ["oauth"]),
        ({"oauth": {"clientId": "me", "tokenUrl": "https://t"}}, {"client_id": "me"}, ["oauth.tokenUrl"]),
        ({"oauth": {"clientId": {"a": 1}}}, {}, ["oauth.clientId"]),
    ],
)  # fmt: skip
def test_how_to_log_in_is_followed_and_what_is_not_is_named(
    written: dict[str, Any], login: dict[str, str], unfollowed: list[str]
) -> None:
    entry = parse_entry({"url": "https://h", **written}, "here")
    assert entry.fields.get("oauth", {}) == login
    assert entry.notes == tuple(f"{key!r} is not understood" for key in unfollowed)


@pytest.mark.parametrize("env", [5, "A=b", ["A"], True, None])
def test_an_environment_within_a_command_that_is_none_is_told(env: object) -> None:
    with pytest.raises(SetupError, match="'env' is an object"):
        parse_entry({"command": {"path": "serve", "env": env}}, "s")
