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


@pytest.mark.parametrize(
    "line",
    [
        "echo 'a",
        'echo "a',
        "(ls",
        "ls )",
        "echo ${X'}",
        "cat <<A\nx",
        "a <",
        "case x in a) b;; esac",
        "echo `a",
        "echo ${a",
        "echo $(a",
        "[[ a",
    ],
)
def test_a_line_that_ends_too_early_or_late_is_unclear(line: str) -> None:
    with pytest.raises(UnclearLine):
        ShellReader(line).read()


@pytest.mark.parametrize(
    ("line", "commands", "bodies"),
    [
        ('diff <(ls a) >(wc -l) x', ['ls a', 'wc -l', 'diff ? ? x'], []),
        ('a<b', ['a'], []),
        ('a>b c', ['a c'], []),
        ('cat 2>&1 >>out x', ['cat x'], []),
        ('a \\\n b', ['a b'], []),
        ('a b # c; d\ne', ['a b', 'e'], []),
        ('echo a#b', ['echo a#b'], []),
        ('echo ${X:-$(ls a)} b', ['ls a', 'echo ? b'], []),
        ('echo "${X:-"$(ls)"}"', ['ls', 'echo ?'], []),
        ('echo $((1+2)) b', ['echo ? b'], []),
        ('echo $(( $(ls) ))', ['ls', '?', 'echo ?'], []),
        ('echo `ls \\`pwd\\``', ['echo ?'], ['ls `pwd`']),
        ('cat <<A\n$(ls)\n`pwd`\nA\nb', ['cat', 'ls', 'b'], ['pwd']),
        ("cat <<'A'\n$(ls)\nA\nb", ['cat', 'b'], []),
        ('cat <<-A\n\tx\n\tA\nb', ['cat', 'b'], []),
        ('[[ -f a && $X < b ]] && c', ['c'], []),
        ('[ -f a ]', ['[ -f a ]'], []),
        ('echo {a,b} {1..3} {a}', ['echo ?{a,b} ?{1..3} {a}'], []),
        ('echo "{a,b}" \'{1..2}\'', ['echo {a,b} {1..2}'], []),
        ("echo $'a\\'b' c", ['echo ? c'], []),
        ('echo "a\\"b$X"', ['echo ?'], []),
        ('echo a"$(ls)"b', ['ls', 'echo ?ab'], []),
        ('a\rb', ['a b'], []),
        ('time [[ -f a ]]', ['time'], []),
        ('if [[ a ]]; then b; fi', ['if', 'then b', 'fi'], []),
        ('echo [[ a', ['echo [[ a'], []),
        ('a;;b', ['a', 'b'], []),
        ('coproc a { ls; }', ['coproc a', 'ls'], []),
        ('a &>b c', ['a', 'c'], []),
        ('echo *.py a?', ['echo ?.py ?a'], []),
        ('{fd}>x a', ['a'], []),
        ('<<<a cat', ['cat'], []),
        ('a | (b; (c))', ['a', 'b', 'c'], []),
        ('$X a', ['?X a'], []),
        ('echo \\', ['echo '], []),
        ('a && \n b', ['a', 'b'], []),
        ('echo a\\ b', ['echo a b'], []),
        ("a $'x\\ny'", ['a ?'], []),
        ('a "$" b', ['a ? b'], []),
        ('a 2> b c', ['a c'], []),
        ('echo "`ls`" d', ['echo ? d'], ['ls']),
        ('echo ${X}y', ['echo ?y'], []),
        ('echo $1a', ['echo ?1a'], []),
    ],
)  # fmt: skip
def test_what_a_shell_expands_is_marked_and_what_runs_within_it_is_read(
    line: str, commands: list[str], bodies: list[str]
) -> None:
    """Of a word with a question mark the text is not certain."""
    reader = ShellReader(line)
    reader.read()
    found = [
        " ".join("?" * (not word.sure) + word.text for word in each) for each in reader.commands
    ]
    assert [each for each in found if each] == commands
    assert reader.bodies == bodies
