"""Processes that are talked to, read, and ended."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from tests.shared import optional
from toolkeel.executors.process_tree import Command, CommandResult, start_command

Sandbox = optional("toolkeel_workspace.sandbox.confine").Sandbox


def test_a_started_command_can_be_talked_to_for_long(tmp_path: Path) -> None:
    async def main() -> list[bytes]:
        with Sandbox("off", [tmp_path]).build_command(["cat"]) as command:
            running = await start_command(command)
            said = []
            assert running.process.stdin is not None and running.process.stdout is not None
            for word in (b"one\n", b"two\n"):
                running.process.stdin.write(word)
                said.append(await running.process.stdout.readline())
            await running.stop()
            assert running.process.returncode is not None
            return said

    assert asyncio.run(main()) == [b"one\n", b"two\n"]


def test_a_second_stop_leaves_the_supervisor_its_work() -> None:
    end, lifeline = os.pipe()
    command = Command(["true"], {}, (), lifeline)
    assert command.stop() and os.read(end, 1) == b""
    assert command.stop()  # False would make the caller kill the supervisor
    os.close(end)
    assert not Command(["true"], {}, ()).stop()


def test_input_that_is_not_read_does_not_hang(tmp_path: Path) -> None:
    finished = asyncio.run(Sandbox("off", [tmp_path]).run(["true"], stdin=b"x" * (4 << 20)))
    assert finished.exit_code == 0


def test_a_sink_is_given_both_outputs_in_one_stream(tmp_path: Path) -> None:
    pieces: list[bytes] = []
    words = ["sh", "-c", "echo a; echo b >&2; echo c"]
    finished = asyncio.run(Sandbox("off", [tmp_path]).run(words, sink=pieces.append))
    assert b"".join(pieces) == b"a\nb\nc\n" and finished.stdout == finished.stderr == b""


def test_a_signal_is_known_only_of_a_process_that_we_have_waited_for(tmp_path: Path) -> None:
    sandbox = Sandbox("off", [tmp_path])
    killed = asyncio.run(sandbox.run(["sh", "-c", "kill -9 $$"]))
    assert (killed.exit_code, killed.signal) == (137, "SIGKILL")
    returned = asyncio.run(sandbox.run(["sh", "-c", "exit 137"]))
    assert (returned.exit_code, returned.signal) == (137, "")
    assert returned.possible_signal == "SIGKILL"
    for code in (0, 1, 128, 255):
        assert not CommandResult(code, "exit", b"", b"", 0.0).possible_signal
