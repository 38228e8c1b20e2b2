"""Commands: time limits, no output, and why one failed."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.walls import need
from toolkeel.errors import ToolError
from toolkeel.executors.process_tree import CommandNotStarted, CommandResult, EndReason
from toolkeel_workspace.sandbox.confine import Sandbox
from toolkeel_workspace.shell.command import (
    Command,
    derive_effects,
    describe_failure,
    make_shell_argv,
    run_command,
    without_terminal,
)
from toolkeel_workspace.shell.output_tail import OutputTail


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_timeout_counts_from_one(timeout: float, tmp_path: Path) -> None:
    sandbox = Sandbox("off", [tmp_path])
    with pytest.raises(ToolError, match="counts from 1"):
        asyncio.run(run_command(sandbox, Command("true", make_shell_argv("true")), timeout=timeout))


@pytest.mark.parametrize(
    ("network", "env", "retries"),
    [(False, {}, "0"), ("machine", {}, None), (False, {"PIP_RETRIES": "3"}, "3")],
)
def test_only_without_a_network_do_package_managers_fail_at_once(
    tmp_path: Path, network: Any, env: dict[str, str], retries: str | None
) -> None:
    need("landlock")
    made = without_terminal(Sandbox("workspace", [tmp_path], network=network, env=env))
    assert made.env.get("PIP_RETRIES") == retries
    assert made.env["npm_config_update_notifier"] == "false"
    open_to_all = without_terminal(Sandbox("off", [tmp_path]))
    assert "PIP_RETRIES" not in open_to_all.env


def test_no_output_is_said(tmp_path: Path) -> None:
    done = asyncio.run(
        run_command(Sandbox("off", [tmp_path]), Command("true", make_shell_argv("true")))
    )
    assert done.content == "(no output)"


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.EMFILE, errno.EIO])
def test_only_what_never_began_could_not_be_started(tmp_path: Path, number: int) -> None:
    """The same error, once in place of the start, and once while its output is taken."""

    class Shut(Sandbox):
        def build_command(self, *args: object, **more: object) -> Any:
            raise OSError(number, "no")

    class Torn(OutputTail):
        def add(self, piece: bytes) -> None:
            raise OSError(number, "no")

    line = "echo begun > begun; echo said"
    words = Command(line, make_shell_argv(line))
    with pytest.raises(ToolError, match="could not be started"):
        asyncio.run(run_command(Shut("off", [tmp_path]), words))
    with pytest.raises(OSError, match="no") as found:
        asyncio.run(run_command(Sandbox("off", [tmp_path]), words, tail=Torn(lambda text: None)))
    assert not isinstance(found.value, CommandNotStarted)
    assert (tmp_path / "begun").exists()


@pytest.mark.parametrize(
    ("code", "ended", "told"),
    [
        (137, "memory", "Command was killed: its processes took more memory than they may"),
        (137, "output", "Command was killed after 64.0 MB of output."),
        (137, "timeout", "timed out after 2 seconds; it and all it started were killed."),
        (
            139,
            "exit",
            "Command exited with code 139, which is also what a shell returns when SIGSEGV",
        ),
        (255, "exit", "Command exited with code 255."),
        (3, "exit", "Command exited with code 3."),
    ],
)
def test_why_a_command_failed_is_told_by_who_ended_it(
    code: int, ended: EndReason, told: str
) -> None:
    assert told in describe_failure(CommandResult(code, ended, b"", b"", 0.0), 2)
    killed = CommandResult(139, "exit", b"", b"", 0.0, "SIGSEGV")
    assert describe_failure(killed, 2) == "Command was killed by SIGSEGV (exit code 139)."
    assert not describe_failure(CommandResult(0, "exit", b"", b"", 0.0), 2)


@pytest.mark.parametrize("mode", ["workspace", "read-only"])
@pytest.mark.parametrize(
    ("backend", "network", "outside"),
    [
        ("none", False, True),
        ("none", True, True),
        ("bubblewrap", False, False),
        ("bubblewrap", True, True),
        ("bubblewrap", ["example.org"], True),
    ],
)
def test_a_command_reaches_outside_without_confinement_or_with_a_network(
    mode: Any, backend: Any, network: Any, outside: bool, tmp_path: Path
) -> None:
    sandbox = Sandbox("off", [tmp_path])
    sandbox.mode, sandbox.backend, sandbox.network = mode, backend, network
    effects = derive_effects(sandbox)
    assert (effects.open_world, effects.stranger) == (outside, outside)
    assert effects.read_only == (mode == "read-only" and not network)
    assert effects.resources[0].startswith(f"file:{tmp_path}") == (backend != "none")
