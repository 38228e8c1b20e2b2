"""A line of shell is split into its commands, or is unclear."""

from __future__ import annotations

import pytest

from toolkeel.call.steps.shell_reader import ShellReader, UnclearLine


def commands_of(line: str) -> list[list[str]]:
    reader = ShellReader(line)
    reader.read()
    return [[word.text for word in words] for words in reader.commands]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("ls -l", [["ls", "-l"]]),
        ("a && b; c | d", [["a"], ["b"], ["c"], ["d"]]),
        ("echo 'a b' \"c\"d", [["echo", "a b", "cd"]]),
        ("cat < in > out", [["cat"]]),
        ("(cd a; ls)", [["cd", "a"], ["ls"]]),
        ("a $; echo $", [["a", "$"], ["echo", "$"]]),
        ("{ ls; }", [["ls"]]),
        ("'{' ls; \\} a", [["{", "ls"], ["}", "a"]]),
    ],
)
def test_a_line_is_its_commands_without_quotes_and_redirections(
    line: str, commands: list[list[str]]
) -> None:
    found = [words for words in commands_of(line) if words]
    assert sorted(found) == sorted(commands)


def test_a_word_with_an_expansion_is_not_certain() -> None:
    reader = ShellReader("run $X plain")
    reader.read()
    [words] = [each for each in reader.commands if each]
    assert [word.sure for word in words] == [True, False, True]


@pytest.mark.parametrize("line", ["echo 'a", 'echo "a', "(ls", "ls )"])
def test_a_line_that_ends_too_early_or_late_is_unclear(line: str) -> None:
    with pytest.raises(UnclearLine):
        ShellReader(line).read()
