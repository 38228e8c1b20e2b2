"""Which lines of shell are one plain command, and which rules cover them."""

from __future__ import annotations

import shlex
import subprocess
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.call.steps.command_patterns import MAX_SCANNED, covers, may_mention, plain_words
from toolkeel.call.steps.rules import Rules

BYPASSES = r"""
git status; rm -rf .
git status && rm -rf .
git status || rm -rf .
git status | sh
git status & rm -rf .
git status > .bashrc
git status >> .bashrc
git status 2> x
git status < /etc/passwd
git status $(rm -rf .)
git status `rm -rf .`
git status ${IFS}x
git status $HOME
git status <(rm x)
git status >(rm x)
git status \; rm
git status # comment
git status !!
git status *
git status ?
git status [a]
git status {a,b}
git status ~
git status ^a
git status "$(rm x)"
git status "`rm x`"
git status "$x"
git status 'a
git status "a
git status $'\x41'
git status "a\"b"
GIT_PAGER=evil git status
A=1 B=2 git status
env git status
exec git status
eval git status
sudo git status
time git status
nohup git status
command git status
builtin git status
alias git=rm
function git
if git status
! git status
( git status )
{ git status
[ git status
. git status
source git status
xargs git status
./git status
/tmp/git status
git  status x
git status --porcelain
git statusx
git -c core.fsmonitor=evil status
git status -- x
git
status git
GIT STATUS
git status；rm
git status
"""


@pytest.mark.parametrize(
    "line",
    [line for line in BYPASSES.strip("\n").split("\n") if line != "git status"]
    + [
        "git status\nrm -rf .",
        "git status\rrm",
        "git status\0",
        "git\tstatus;rm",
        "git status\x0brm",
        "git status\u2028rm",
        "git st\u0430tus",
        "",
        " ",
        "git status " + "x" * 5000,
    ],
)
def test_no_line_but_the_plain_one_is_covered_by_a_rule(line: str) -> None:
    assert not covers("git status", line)
    assert (
        Rules(allow=["bash(command=git status)"]).rule("bash", {"command": line}, "command") is None
    )


def test_the_plain_line_is_covered_quoted_or_with_more_blanks() -> None:
    rules = Rules(allow=["bash(command=git status)"])
    for line in ("git status", "  git   status ", "'git' \"status\""):
        assert rules.rule("bash", {"command": line}, "command") is not None


def test_a_star_at_the_end_stands_for_any_words_of_the_same_command() -> None:
    assert covers("git log *", "git log --format='%H' -3") and covers("git log *", "git log")
    assert not covers("git log *", "git log; rm -rf .")
    assert covers("npm run test:*", "npm run test:unit") and not covers("npm *", "npm;x")
    assert covers("pytest", "pytest") and not covers("", "pytest") and not covers("*", "a;b")
    assert covers("*", "pytest") and not covers("*", "git log") and not covers("git *", "")
    assert plain_words("'' log") is None and plain_words("git ''") == ["git", ""]


@pytest.mark.parametrize(
    "line",
    ["rm -rf .", "cd x && rm -rf .", "(rm x)", "a; rm x", "$(rm x)", "`rm x`", "a|rm x", "rm"]
    + ["'rm' x", "r''m x", "r\\m x", "r\\\nm x", "/bin/rm x", "A=1 ../bin/rm x", "bash -c 'rm x'"]
    + [
        "$X x",
        "X=rm; $X x",
        "cd a && ${X} x",
        "$'r\\x6d' x",
        "r? x",
        "/bin/r* x",
        "`x` y",
        "[r]m x",
    ]
    + ["eval x", "echo cm0geA== | base64 -d | sh", ". ./x", "sh < x", "a;" * 300 + "rm x"],
)
def test_a_rule_that_denies_or_asks_looks_into_every_part(line: str) -> None:
    assert may_mention("rm *", line) or may_mention("rm", line)
    assert str(Rules(deny=["bash(command=rm)"]).action("bash", {"command": line})) in (
        "deny",
        "None",
    )
    rule = Rules(deny=["bash(command=rm)"], allow=["*"]).rule("bash", {"command": line}, "command")
    assert rule is not None and rule.action == "deny"


@pytest.mark.parametrize(
    "line",
    ['echo "$HOME"', "[ -f x ] && cat x", "ls *.py", "for f in *; do cat $f; done", "A=$(date) ls"]
    + ["bash script.sh", "git log --format='%H'", "./run.sh a", "echo 'a'\"b\"", "sh -c 'ls'"]
    + ["cat > f <<'EOF'\n$x `y` '\nEOF\nls", "cat <<EOF\n$HOME\n'\nEOF", "awk '{print $1}' f"]
    + ["find . -name '*.py' | xargs wc -l", "[[ $a == b* && $b ]] && ls", 'time pytest "$f"']
    + ["echo $((i * 2)) `date` | head", 'while read -r l; do echo "$l"; done < f']
    + ["python -c 'print({1, 2}); x[0]'", "python --version", "bash -euo pipefail -c 'ls $x'"]
    + ["A=\"$B\" C='d e' make > f 2>&1", "find . -exec wc {} \\;", 'x=(a b); echo "${x[@]}"']
    + ["if ! grep -q a f; then (cd b && ls); fi", 'f() { ls "$1"; }; f *.py # $x'],
)
def test_a_rule_that_denies_lets_other_lines_through(line: str) -> None:
    assert not may_mention("rm *", line)


@pytest.mark.parametrize(
    "line",
    [
        "xargs rm", "find . -print0 | xargs -0 -n1 rm", "env -S'rm y'", "git -c alias.x='!rm y' x",
        "alias x='rm y'; x", "tar --to-command='rm y' -xf a", "vim -c '!rm y'", "rm;ls", "rm&",
        """node -e 'require("child_process").execFileSync("rm", ["y"])'""",
    ],
)  # fmt: skip
def test_a_program_is_found_behind_signs_and_quotes_and_without_words_of_its_own(line: str) -> None:
    assert may_mention("rm *", line)


@pytest.mark.parametrize(
    "line",
    [
        "cat f | bash -s", "cat f | bash -", "curl y | bash -e", "cat f | env -i bash", "sh -x <f",
        "cat f | sudo -E bash", "cat f | timeout 5 dash", "cat f | fish", "bash /dev/stdin <f",
        "bash -c \"$(curl y)\"", "sh -c $X", "find . -exec sh -c \"$X\" \\;", "bash <(curl y)",
        "docker exec c sh -c \"$X\"", "bash -o pipefail", "curl y | python3 -", "curl y | perl",
        "python -c \"$(curl y)\"", "xargs -I{} bash -c {} <f", "bash -c '$X y'", "bash <<< $X",
        "python <<EOF\nx\nEOF", "if $X; then :; fi", "until $X; do :; done", "{ $X; }", "f() { $X; }",
        "a='1 2' $X", "a=(1 2) $X", "a[0]=1 $X", "a+=1 $X", "2>&1 $X", "<f $X", "{q}>f $X", "! $X",
        ">f eval a", "xargs -n1 $X", "sudo -u root $X", "env -i A=1 $X", "nice -n 3 $X",
        "timeout -s KILL 5 $X", "command -p $X", "time -p $X", "coproc N { $X; }", "builtin eval a",
        "trap \"$X\" EXIT", "alias ls=$X", "mapfile -C a -c 1 b", "hash -p /bin/a b", "{a,-rf,b}",
        "a{b,c} d", "echo $(cat f | sh)", "echo \"$($X)\"", "echo \"`$X`\"", "cat <($X)", "$(($X) )",
        "echo ${y:-`$X`}", "echo \"$(echo ')'; $X)\"", "echo $'\\'' ; $X '", "[[ $($X) ]]",
        "cat <<EOF\n$($X)\nEOF", "cat <<EOF\n\tEOF\n'\nEOF\n$X\necho ''", "cat <<EOF\nno end",
        "echo ${y:-'}'} ; $X ; echo ''", "case a in a) $X;; esac", "echo \"$(case a in a) $X;; esac\n)\"",
        "# '\n$X", "echo 'never closed", "echo $(never closed", "$(" * 5000, "sudo -a " * 100,
    ],
)  # fmt: skip
def test_what_a_line_runs_without_saying_it_counts_as_any_program(line: str) -> None:
    assert may_mention("rm *", line)


@given(st.text("rm '\"\\;$|x", max_size=8), st.sampled_from(["; ", " && ", "\n", " | ", "("]))
def test_no_way_of_quoting_hides_a_program_that_a_shell_would_run(word: str, before: str) -> None:
    script = f"rm() {{ echo ran; }}\n{word} "
    said = subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, check=False, env={"PATH": "/nowhere"}
    )
    if b"ran" in said.stdout:
        assert may_mention("rm", word) and may_mention("rm", f"ls{before}{word}")


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("git push *", "git -C . push x"),
        ("git push *", "cd a && git --no-pager -c user.name='a b' push"),
        ("git push *", "echo $(git --git-dir=.git --work-tree . push)"),
        ("git push *", "sh -c \"git -c user.name='a b' push\""),
        ("git push", "/usr/lib/git-core/git-push x"),
        ("pip install *", "pip -q install x"),
        ("rm -rf *", "rm -v -rf x"),
    ],
)
def test_options_before_a_word_do_not_hide_it_from_a_rule(pattern: str, line: str) -> None:
    assert may_mention(pattern, line)


@pytest.mark.parametrize(
    "line",
    ["git commit -m push", "git log --grep push", "git stash push", "git add push", "git", "ls -l"],
)
def test_a_word_that_is_not_where_the_rule_has_it_is_another_one(line: str) -> None:
    assert not may_mention("git push *", line)


@given(
    st.lists(st.sampled_from(["-C .", "-c a=b", "--bare", "-c 'x=y z'", "-P", '--git-dir="a b"']))
)
def test_no_number_of_options_hides_a_word(options: list[str]) -> None:
    assert may_mention("git push *", " ".join(["git", *options[:20], "push"]))


def test_another_tools_arguments_are_compared_as_they_were() -> None:
    rules = Rules(allow=["note(text=a*)"])
    assert rules.action("note", {"text": "a; b"}) == "allow"


@given(st.text(alphabet="ab-=/.,:+%@'\" ;&|$`\\\n(){}<>*?!#~^[]é\t", max_size=30))
def test_whatever_counts_as_plain_is_those_very_words_to_a_shell(line: str) -> None:
    words = plain_words(line)
    if words is not None:
        assert words == shlex.split(line)
        script = f"printf '%s\\0' {line}"
        said = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True).stdout
        assert said.decode().split("\0")[:-1] == words


def test_a_hostile_line_is_decided_at_once() -> None:
    assert plain_words("a" * 4000 + ";") is None
    assert plain_words("'a' " * 1000 + "'") is None


@pytest.mark.parametrize("piece", ["a", ";", "\n", "&", "\\", "'a' ", "$(", "${x", "<<A\n", "`"])
def test_a_line_that_takes_long_to_read_is_not_read_but_counts_as_a_match(piece: str) -> None:
    began = process_time()
    assert may_mention("rm *", piece * 2_000_000)
    assert not covers("rm *", piece * 2_000_000)
    may_mention("rm *", (piece * MAX_SCANNED)[:MAX_SCANNED])
    assert process_time() - began < 2


@given(st.text("ab1 '\"%+:,./=-@_~#*!?[]{}|$", max_size=14))
def test_the_words_of_a_plain_line_are_those_a_shell_reads(line: str) -> None:
    words = plain_words(line)
    assert words is None or words == shlex.split(line)


@pytest.mark.parametrize("line", ["echo '{'", "echo '[[' ']]'", "find . -name '}'"])
def test_quoted_signs_are_plain_words(line: str) -> None:
    assert plain_words(line) == shlex.split(line)
