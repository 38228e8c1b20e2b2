"""Scripts for shells: what bash really completes, and that the others name the same."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Here
from toolkeel_studio.cli.main import COMMANDS

SHOP = '''
from typing import Literal

def order(item: Literal["lamp", "desk"], count: int = 1, fast: bool = False) -> str:
    """Order an item."""
    return item

def cancel(number: int) -> str:
    """Cancel an order."""
    return ""
'''
TRY = """
source ./completion
COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_toolkeel
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (("re",), ["record", "replay", "resume"]),
        (("run", "--app"), ["--approve"]),
        (("run", "--approve", ""), ["ask", "deny"]),
        (("run", "-m", "o"), ["offline", "our tools.py"]),
        (("tools", "our"), ["our tools.py"]),
        (("mcp", "d"), ["diff"]),
        (("mcp", "add", "--h"), ["--header", "--help"]),
        (("sessions", "fork", "--tu"), ["--turn"]),
        (("completion", "f"), ["fish"]),
        (("schema", "-p", "o"), ["openai", "openai-chat", "openai-responses"]),
        (("nonsense", "zzz"), []),
    ],
)
def test_bash_completes_commands_options_values_and_files(
    typed: tuple[str, ...], offered: list[str], here: Here, tmp_path: Path
) -> None:
    (tmp_path / "completion").write_text(here("completion", "bash").out, "utf-8")
    (tmp_path / "our tools.py").touch()
    done = subprocess.run(
        ["bash", "-c", TRY, "try", "toolkeel", *typed],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stderr, sorted(filter(None, done.stdout.splitlines()))) == ("", offered)


def test_after_call_come_tools_arguments_and_the_values_of_enums(
    monkeypatch: pytest.MonkeyPatch, here: Here, tmp_path: Path
) -> None:
    (tmp_path / "shop.py").write_text(SHOP, "utf-8")
    monkeypatch.chdir(tmp_path)
    for typed, offered in (
        (("shop.py", "o"), ["order"]),
        (("shop.py", "order", ""), ["count=", "fast=", "item="]),
        (("shop.py", "order", "item=l"), ["item=lamp"]),
        (("shop.py", "order", "item", "=", "l"), ["lamp"]),  # as bash splits it
        (("shop.py", "order", "item", "="), ["desk", "lamp"]),
        (("shop.py", ":", "order", "it"), ["item="]),
        (("shop.py", "order", "fast="), ["fast=false", "fast=true"]),
        (("mcp.json", ""), []),
    ):
        assert here("call", "--complete", "--", *typed).out.split() == offered, typed
    assert 'toolkeel call --complete -- "${COMP_WORDS[@]:2' in here("completion", "bash").out


def test_bash_offers_every_command(here: Here, tmp_path: Path) -> None:
    (tmp_path / "completion").write_text(here("completion", "bash").out, "utf-8")
    done = subprocess.run(
        ["bash", "-c", TRY, "try", "toolkeel", ""], cwd=tmp_path, capture_output=True, text=True
    )
    assert set(done.stdout.split()) == set(COMMANDS)


def test_zsh_reads_the_same_and_uses_none_of_its_own_names(here: Here) -> None:
    lines = here("completion", "zsh").out.splitlines()
    assert "bashcompinit" in lines[0]
    assert lines[1:] == here("completion", "bash").out.splitlines()
    declared = next(line for line in lines if "local place" in line)
    assert " path" not in declared and " words" not in declared  # zsh's own variables


def test_fish_is_told_every_command_and_its_options(here: Here) -> None:
    script = here("completion", "fish").out
    for name, (_, summary) in COMMANDS.items():
        assert f"-n __fish_use_subcommand -a {name} -d " in script, name
        assert summary.split("'")[0] in script
    assert "-l approve -x -a 'ask deny'" in script
    assert "-l model -s m -r -a 'auto offline'" in script
    assert "-f -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'" in script
