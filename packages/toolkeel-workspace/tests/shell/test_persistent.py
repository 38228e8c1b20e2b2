"""A persistent shell: what lasts, what is lost and said, and what it never hides."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sandbox.walls import need
from tests.shell.background_caller import Caller
from toolkeel import Agent, Rules, RunContext, Toolset
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel.testing.scripted import Scripted, call
from toolkeel_workspace.files.workspace import Workspace
from toolkeel_workspace.shell.command import make_shell_argv
from toolkeel_workspace.shell.persistent import MAX_STATE, PersistentCall, StateReader


def run(folder: Path, *commands: str, sandbox: str = "off") -> list[ToolMessage]:
    """Run commands in one persistent shell, and return their results."""

    async def main() -> list[ToolMessage]:
        caller = Caller(folder, sandbox, shell="persistent")
        return [await caller.call("bash", command=command) for command in commands]

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("first", "then", "shown"),
    [
        ("mkdir -p 'a b' && cd 'a b'", 'basename "$PWD"', "a b"),
        ("export A='größe\n2'", 'printf "%s" "$A" | wc -l; env | grep -c ^A=', "1\n1"),
        ("x=(1 '2 3'); declare -A m=([k]='v w')", 'echo "${#x[@]} ${x[1]} ${m[k]}"', "2 2 3 v w"),
        ('greet() { echo "hi $1"; }', "greet you", "hi you"),
        ("unset LANG; export A=1; unset A", 'echo "${LANG-none} ${A-none}"', "none none"),
        ("A=1; exit 0", "echo $A", "1"),
        ("A=1; false", "echo $A", "1"),
        ("set -eu; A=1; echo $NOPE", "echo $A; false; echo on", "1\non"),
        ("IFS=:; PATH=/nowhere", "echo x; [[ $PATH == /nowhere ]] && echo kept", "x\nkept"),
        ("exec > /dev/null; A=1", "echo $A", "1"),
        ("readonly R=1", "echo $R", "1"),
        ("trap 'echo bye; exit 0' EXIT; A=1; (trap 'echo sub' EXIT)", "echo $A", "1"),
        ("set -e; trap 'echo bye' EXIT; A=1; false", "echo $A", "1"),
        ("printf() { echo mine; }; builtin() { :; }; A=1", "echo $A; printf x", "1\nmine"),
        ("trap() { echo mine; }", "trap x; A=1", "mine"),
        ("f() { echo hi; }; export -f f", "bash -c f", "hi"),
        (
            "mkdir d; cd d; cd ..; cd d",
            'cd - > /dev/null; [[ $PWD == "$OLDPWD" ]] || echo up',
            "up",
        ),
        (
            "declare -A m; export E; x=1; declare -n r=x",
            "m[k]=v; echo ${m[k]} $r; E=2; env | grep ^E",
            "v 1\nE=2",
        ),
        ('mkdir d; cd() { builtin cd "$@" && echo moved; }; cd d', 'basename "$PWD"', "d"),
        (
            "umask 077; OPTIONS=a EPOCHS=5 COLUMNS=40",
            "umask; echo $OPTIONS$EPOCHS$COLUMNS",
            "0077\na540",
        ),
        (
            "printf 'deactivate() { echo off; }; export V=1' > act; . ./act",
            "echo $V; deactivate",
            "1\noff",
        ),
    ],
)
def test_folder_variables_and_functions_last(
    tmp_path: Path, first: str, then: str, shown: str
) -> None:
    before, after = run(tmp_path, first, then)
    assert after.text == shown
    assert "\0" not in before.text and "cd --" not in before.text


def test_what_lasts_lasts_for_more_than_one_command(tmp_path: Path) -> None:
    """Each command saves anew what it was given, whatever functions hide."""
    *_, last = run(
        tmp_path,
        "builtin() { :; }; trap() { echo mine; }; mkdir d; cd d; cd ..; A=1; declare -A m",
        "true",
        "true",
        'trap; m[k]=v; echo "$A ${m[k]}"; cd -',
    )
    assert last.text == f"mine\n1 v\n{tmp_path}/d"


def test_a_function_called_eval_is_not_kept_and_that_is_said(tmp_path: Path) -> None:
    first, after = run(tmp_path, "eval() { echo mine; }; A=1", "echo $A")
    assert "The function eval is not kept" in first.text
    assert after.text == "1"


def test_a_shell_in_which_nothing_changed_counts_as_unchanged(tmp_path: Path) -> None:
    async def main() -> bool:
        caller = Caller(tmp_path, shell="persistent")
        for _ in range(3):
            await caller.call("bash", command="ls; true")
        shell = caller.workspace._commands._shell  # type: ignore[union-attr]
        return shell.is_changed()  # type: ignore[union-attr]

    assert not asyncio.run(main())


def test_it_lasts_in_the_sandbox_too_and_left_processes_are_still_named(tmp_path: Path) -> None:
    need("bubblewrap")
    left, after = run(
        tmp_path,
        "mkdir d; cd d; export A=1; sleep 60 & echo on",
        "pwd; echo $A",
        sandbox="workspace",
    )
    assert "on" in left.text and "[Still running when it had ended, and killed: sleep]" in left.text
    assert after.text == f"{tmp_path}/d\n1"


@pytest.mark.parametrize(
    "command", ["A=2; kill -9 $$", "A=2; sleep 60", "A=2; exec true", "A=2; builtin trap - EXIT"]
)
def test_a_shell_that_ends_otherwise_loses_what_this_command_changed_and_says_so(
    tmp_path: Path, command: str
) -> None:
    async def main() -> list[ToolMessage]:
        caller = Caller(tmp_path, shell="persistent")
        await caller.call("bash", command="A=1")
        lost = await caller.call("bash", command=command, timeout=0.5)
        return [lost, await caller.call("bash", command="echo $A")]

    lost, after = asyncio.run(main())
    assert "The state of the shell was not saved" in lost.text
    assert after.text == "1"


def test_a_state_that_is_too_long_is_not_kept_and_that_is_said(tmp_path: Path) -> None:
    first, after = run(tmp_path, f"A=1; B=$(printf '%0{MAX_STATE}d' 0)", 'echo "${A-none}"')
    assert "it has 48.1 KB, and 48.0 KB are kept at most" in first.text
    assert after.text == "none"


def test_a_failure_keeps_its_exit_code_and_a_mistake_of_syntax_is_shown(tmp_path: Path) -> None:
    failed, wrong, absent = run(
        tmp_path, "A='x\ny'; cd /; exit 7", "echo a; if then", "\ncd /absent"
    )
    assert "line 2: cd: /absent" in absent.text
    assert failed.text.endswith("Command exited with code 7.")
    assert "syntax error" in wrong.text and wrong.failed


def test_a_background_command_starts_in_the_state_and_changes_nothing_of_it(tmp_path: Path) -> None:
    async def main() -> list[str]:
        caller = Caller(tmp_path, shell="persistent")
        await caller.call("bash", command="mkdir d; cd d; A=1")
        job = await caller.call("bash", command="echo $A $(basename $PWD); A=2", background=True)
        return [job.text, (await caller.call("bash", command="echo $A")).text]

    job, after = asyncio.run(main())
    assert "1 d" in job and after == "1"


def test_a_new_run_starts_with_a_new_shell(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, "off", shell="persistent")

    def once(command: str) -> str:
        model = Scripted([call("bash", {"command": command}), "Done."])
        result = Agent(model, tools=workspace.tools).run_sync("go", approver=lambda ticket: True)
        return result.messages[-2].text

    once("A=1; cd /")
    assert once('echo "${A-none} $PWD"') == f"none {tmp_path}"


def test_a_rule_that_allows_a_command_does_not_count_in_a_changed_shell(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, "off", shell="persistent")
    tools = Toolset(workspace.tools, rules=Rules(allow=["bash(command=ls *)"]))
    asked: list[str] = []

    def approve(ticket: object) -> bool:
        asked.append(str(ticket.reason))  # type: ignore[attr-defined]
        return True

    async def main() -> None:
        shared = RunContext(approver=approve)
        for command in ("ls -a", "ls() { touch stolen; }", "ls -a"):
            await tools.run([ToolCall("c", "bash", {"command": command})], shared)

    asyncio.run(main())
    assert len(asked) == 2 and "have changed this shell" in asked[1]


PIECES = st.lists(st.binary(max_size=6), max_size=8)


@given(PIECES, st.binary(max_size=20), st.binary(max_size=6), st.integers(1, 9))
def test_a_state_is_found_however_output_is_cut(
    pieces: list[bytes], state: bytes, rest: bytes, size: int
) -> None:
    reader = StateReader(lambda text: None)
    before = b"".join(pieces)
    nonce = reader.nonce.encode()
    data = before + b"\0%b %d\0%b\0%b\0" % (nonce, len(state), state, nonce) + rest
    plain = StateReader(lambda text: None)
    for start in range(0, len(data), size):
        reader.add(data[start : start + size])
    plain.add(before + rest)
    reader.close()
    plain.close()
    assert reader.state is not None
    assert reader.state.encode("utf-8", "surrogateescape") == state
    assert reader.render() == plain.render() and reader.bytes == plain.bytes


@pytest.mark.parametrize(
    "value", ["a'b", 'a"b', "$(touch x)", "`id`", "\\", "!", "é\t", "a\nb", ""]
)
def test_a_value_is_restored_as_it_was(tmp_path: Path, value: str) -> None:
    shell, states = make_shell_argv("")[0], {"": ""}
    for command in (f'A={subprocess.list2cmdline([])}"$V"', 'printf "<%s>" "$A"'):
        made = PersistentCall(lambda text: None, states, "", [])
        words = [shell, "-c", made.make_line(command)]
        done = subprocess.run(
            words, capture_output=True, check=True, env={"V": value}, cwd=tmp_path
        )
        made.tail.add(done.stdout)
        made.tail.close()
        made.finish()
    assert made.tail.render()[0] == f"<{value}>"
    assert list(tmp_path.iterdir()) == []


def test_a_command_whose_folder_is_gone_is_not_run(tmp_path: Path) -> None:
    """Else it would run in the root of the workspace, as on everything there."""
    (tmp_path / "precious").touch()
    _, gone, missed, after = run(
        tmp_path, "A=1; mkdir build; cd build", "rmdir ../build", "rm -f -- *", 'pwd; echo "$A"'
    )
    assert not gone.failed
    assert (tmp_path / "precious").exists()
    assert missed.failed and "the command was not run" in missed.text
    assert after.text == f"{tmp_path}\n1"
