"""The way in and out: help, suggestions, exit codes, a missing package, speed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commandline import environment, toolkeel
from tests.cli.conftest import Here
from tests.gates.brought import HIDE, hidden
from tests.shared import ROOT
from toolkeel_studio.cli.main import COMMANDS, main


def test_help_lists_every_command_and_the_exit_codes(here: Here) -> None:
    ended = here("--help")
    assert ended.code == 0
    for name, (_, summary) in COMMANDS.items():
        assert re.search(rf"(?m)^  {name} +{re.escape(summary)}$", ended.out)
    assert "Exit codes: 0 done, 1 the tool or the model failed, 2 wrong usage" in ended.out


HELPS = """
from toolkeel_studio.cli.main import COMMANDS, main
for name in COMMANDS:
    ended = None
    try:
        main([name, "--help"])
    except SystemExit as error:
        ended = error.code
    print(f"ended {name} {ended}")
"""


def test_every_command_shows_its_help_where_only_the_command_line_is_installed() -> None:
    code = HIDE.format(names=hidden("toolkeel[cli]")) + HELPS
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=False
    )
    for name in COMMANDS:
        assert f"Usage: toolkeel {name} " in done.stdout, (name, done.stderr)
        assert f"ended {name} 0" in done.stdout, (name, done.stderr)


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("inspect", "calculator"), "inspect"),
        (("mcp", "tools", "npx nothing"), "mcp"),
        (("serve", "calculator"), "mcp"),
        (("gateway", "mcp.json"), "mcp"),
        (("index", "."), "search"),
    ],
)
def test_a_command_that_needs_an_extra_tells_its_install_line(
    words: tuple[str, ...], extra: str, tmp_path: Path
) -> None:
    code = HIDE.format(names=hidden("toolkeel[cli]"))
    code += f"from toolkeel_studio.cli.main import main\nmain({list(words)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert f"pip install 'toolkeel[{extra}]'" in done.stderr


def test_no_words_at_all_say_what_to_do_next(here: Here) -> None:
    ended = here()
    assert (ended.code, ended.err) == (0, "")
    assert "toolkeel --help" in ended.out


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_begins_with_its_line_in_the_list(name: str, here: Here) -> None:
    ended = here(name, "--help")
    assert ended.code == 0
    assert COMMANDS[name][1].rstrip(".") in ended.out
    assert "Exit codes" in ended.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("cal",), "No such command 'cal'. Did you mean 'call', 'local'?"),
        (("tools", "--jsn"), "No such option: --jsn (Possible options: --json)"),
        (("schema",), "Missing argument 'TARGET'"),
        (("run", "hi", "--max-turns", "0"), "'--max-turns'"),
    ],
)
def test_wrong_usage_is_two_and_says_what_was_meant(
    words: tuple[str, ...], said: str, here: Here
) -> None:
    ended = here(*words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_a_bad_target_is_three_in_one_line(tmp_path: Path) -> None:
    ended = toolkeel("tools", "calculatr", cwd=tmp_path)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == (
        "toolkeel: 'calculatr' is no file, no folder, no module and no builtin; "
        "did you mean 'calculator'?\n"
    )


def test_the_version_is_printed_alone(here: Here) -> None:
    ended = here("--version")
    assert ended.code == 0
    assert re.fullmatch(r"toolkeel \d+\.\d+\.\d+\S*\n", ended.out)


def test_without_its_extra_the_command_says_how_to_install_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['typer'] = None; from toolkeel_studio.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "tools"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "toolkeel: the command line needs an extra: pip install 'toolkeel[cli]'\n"
    )


def test_only_the_command_that_was_asked_for_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom toolkeel_studio.cli.main import main\n"
        "try: main(WORDS)\n"
        "except SystemExit: pass\n"
        "print([m for m in sys.modules if m.startswith(('toolkeel_studio.cli.', 'rich.live', 'openai'))])"
    )
    seen = {}
    for words in (["--help"], ["tools", "--help"]):
        run = [sys.executable, "-c", code.replace("WORDS", repr(words))]
        done = subprocess.run(run, cwd=tmp_path, env=environment(), capture_output=True, text=True)
        seen[words[0]] = done.stdout.splitlines()[-1]
    assert not any(f"toolkeel_studio.cli.commands.{name}'" in seen["--help"] for name in COMMANDS)
    assert "toolkeel_studio.cli.commands.tools'" in seen["tools"]
    assert "rich.live" not in seen["tools"]
    assert "openai" not in seen["tools"]


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    shell = f"{sys.executable} -m toolkeel schema calculator | head -c 1"
    done = subprocess.run(
        ["sh", "-c", shell], cwd=tmp_path, env=environment(), capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == (b"[", b"")


def test_the_guide_names_every_command_and_every_exit_code() -> None:
    guide = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert [name for name in COMMANDS if f"## {name}" not in guide] == []
    assert [code for code in (0, 1, 2, 3, 75, 130) if f"| {code} |" not in guide] == []


def _examples(guide: str) -> list[tuple[str, str]]:
    """Commands of the guide's console blocks, each with what it prints."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"(?ms)^```console\n(.*?)^```", guide):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, printed = part.partition("\n")
            found.append((command, printed))
    return found


EXAMPLES = _examples((ROOT / "docs" / "cli.md").read_text("utf-8"))


@pytest.mark.parametrize(("command", "printed"), EXAMPLES, ids=[c for c, _ in EXAMPLES])
def test_every_example_of_the_guide_prints_what_it_says(
    command: str,
    printed: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guide = (ROOT / "docs" / "cli.md").read_text("utf-8")
    [tools] = re.findall(r"(?ms)^```python\n(.*?)^```", guide)
    (tmp_path / "tools.py").write_text(tools, "utf-8")
    (tmp_path / "missing_import.py").write_text("import nosuchpackage\n")
    monkeypatch.chdir(tmp_path)
    _, *words = shlex.split(command)
    with pytest.raises(SystemExit):
        main(words)
    out, err = capfd.readouterr()
    pattern = re.escape(printed).replace(re.escape("..."), "(?s:.*?)")
    both = (out + err, err + out)  # two streams: their order on a screen is not kept here
    assert any(re.fullmatch(pattern, text) for text in both), both
