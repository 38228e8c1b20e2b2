"""What a server's entry starts, as a person is shown it and as consent is bound to it."""

from __future__ import annotations

from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.launch_facts import fingerprint, launch_facts, shown_lines


def test_each_fact_changes_the_fingerprint_and_timeouts_do_not() -> None:
    base = {"command": ("run", "a"), "cwd": "/w", "env": {"A": "1"}, "origin": "/f/mcp.json"}
    other = [
        {"command": ("run", "a", "")},
        {"command": ("run a",)},
        {"cwd": "/v"},
        {"env": {"A": "2"}},
        {"env": {"A": "1", "B": ""}},
        {"origin": "/g/mcp.json"},
        {"include_tools": ("x",)},
        {"exclude_tools": ("x",)},
        {"is_legacy": True},
    ]
    found = [fingerprint(launch_facts(ServerConfig("s", **base | each))) for each in [{}, *other]]  # type: ignore[arg-type]
    assert len(set(found)) == len(found)
    slow = fingerprint(launch_facts(ServerConfig("s", timeout=5.0, **base)))  # type: ignore[arg-type]
    assert slow == found[0]


def test_a_command_of_several_lines_is_shown_line_by_line() -> None:
    config = ServerConfig("s", ("sh", "-c", "one\ntwo"), origin="/f/mcp.json")
    assert "two'" in shown_lines(launch_facts(config))


def test_half_a_character_is_bound_like_any_other() -> None:
    configs = [ServerConfig("s", ("x", "\ud800" * n), origin="/f/mcp.json") for n in (1, 2)]
    assert len({fingerprint(launch_facts(each)) for each in configs}) == 2
