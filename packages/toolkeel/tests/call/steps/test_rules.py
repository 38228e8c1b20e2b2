"""Rules: deny before ask before allow, by tool and argument, in code or in TOML."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import Effects, Rules, SetupError, ToolCall, ToolContext, Toolset, tool
from toolkeel.call.steps.resources import resolve_argument
from toolkeel.call.steps.rules import ORDER, parse_rule


def test_deny_comes_before_ask_and_ask_before_allow() -> None:
    rules = Rules(allow=["*"], ask=["w*"], deny=["write(path=/etc/*)"])
    assert rules.action("write", {"path": "/etc/passwd"}) == "deny"
    assert rules.action("write", {"path": "/home/a"}) == "ask"
    assert rules.action("read", {"path": "/etc/passwd"}) == "allow"
    assert Rules(ask=["read"]).action("write", {}) is None


@pytest.mark.parametrize(
    ("text", "arguments", "matches"),
    [
        ("rm", {}, True),
        ("rm()", {"path": "a"}, True),
        ("r?", {}, True),
        ("R*", {}, False),
        ("rm(path=/etc/*)", {"path": "/etc/a/b"}, True),
        ("rm(path=/etc/*)", {"path": "/etc"}, False),
        ("rm(path=/etc/*)", {"path": "/etc/a\nb"}, True),
        ("rm(path=/etc/*)", {}, False),
        ("rm(force=true)", {"force": True}, True),
        ("rm(force=True)", {"force": True}, False),
        ("rm(n=5)", {"n": 5}, True),
        ("rm(n=5)", {"n": 5.0}, True),
        ("rm(n=5.0)", {"n": 5}, True),
        ("rm(n=5)", {"n": 5.5}, False),
        ("rm(n=1)", {"n": True}, False),
        ("rm(n=1.0)", {"n": True}, False),
        ("rm(n=null)", {"n": None}, True),
        ('rm(paths=*"/etc/*)', {"paths": ["/tmp", "/etc/a"]}, True),
        ("rm(name=*密码*)", {"name": "我的密码.txt"}, True),
        ("rm(path=a, force=true)", {"path": "a", "force": True}, True),
        ("rm(path=a, force=true)", {"path": "a", "force": False}, False),
        ("rm(expr=a=b)", {"expr": "a=b"}, True),
    ],
)
def test_a_rule_is_about_the_calls_its_patterns_say(
    text: str, arguments: dict[str, object], matches: bool
) -> None:
    assert parse_rule("deny", text).matches("rm", arguments) is matches


WAYS = ["secrets/x", "./secrets/x", "@secrets/x", " secrets/x ", "secrets//x", "a/../secrets/x"]
WAYS += [".//./secrets/./x", "@ ./secrets/x"]


@pytest.mark.parametrize("path", WAYS)
@pytest.mark.parametrize("action", ["deny", "ask"])
def test_a_path_written_in_another_way_does_not_get_past_a_rule(action: str, path: str) -> None:
    rules = Rules(**{action: ["read(path=secrets/*)"]})
    assert rules.action("read", {"path": path}) == action


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("my file", "my\u00a0file"), ("café", "cafe\u0301"), ("it's", "it’s"), ("/etc/*", "//etc/x")],
)
def test_names_that_look_the_same_are_the_same_to_a_rule(pattern: str, path: str) -> None:
    assert Rules(deny=[f"read(path={pattern})"]).action("read", {"path": path}) == "deny"


@pytest.mark.parametrize(
    ("path", "action"),
    [
        ("src/a.py", "allow"),
        ("src/../../etc/passwd", None),
        ("src\\..\\..\\x", None),
        ("src/a/../b", "allow"),
        ("src/..a/b", "allow"),
    ],
)
def test_what_leads_elsewhere_is_not_let_through(path: str, action: str | None) -> None:
    assert Rules(allow=["write(path=src/*)"]).action("write", {"path": path}) == action


def test_addresses_are_still_compared_as_they_are() -> None:
    rules = Rules(allow=["fetch(url=https://example.org/*)"], deny=["fetch(url=https://bad.org/*)"])
    assert rules.action("fetch", {"url": "https://example.org/a//b"}) == "allow"
    assert rules.action("fetch", {"url": "https://bad.org/a"}) == "deny"


@pytest.mark.parametrize(
    "text", ["", "  ", "rm(", "rm)", "rm(path)", "rm(a=1,b)", "two words", "(a=1)"]
)
def test_what_is_no_rule_is_refused_when_it_is_written(text: str) -> None:
    with pytest.raises(SetupError, match="deny"):
        Rules(deny=[text])


@given(st.from_regex(r"[a-z_*?]{1,8}", fullmatch=True), st.sampled_from(ORDER))
def test_a_rule_reads_back_from_its_text(name: str, action: str) -> None:
    made = parse_rule(action, f" {name} ( path = /a/* , n=1 ) ")  # type: ignore[arg-type]
    assert str(made) == f"{action} {name}(path=/a/*, n=1)"
    assert parse_rule(action, str(made).partition(" ")[2]) == made  # type: ignore[arg-type]


def test_rules_of_a_file_are_those_of_its_approval_table(tmp_path: Path) -> None:
    path = tmp_path / "项目.toml"
    path.write_text('[approval]\ndeny = ["rm(path=/etc/*)"]\nask = ["rm"]\n', "utf-8")
    rules = Rules.from_toml(path)
    assert rules.action("rm", {"path": "/etc/a"}) == "deny"
    assert rules.action("rm", {"path": "a"}) == "ask"
    path.write_text("[other]\nx = 1\n[approval]\n", "utf-8")
    assert Rules.from_toml(str(path)).action("rm", {}) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ask = ['rm']",
        "[rules]\nask = ['rm']",
        "[approval",
        "approval = 5",
        "approval = [1]",
        "[approval]\ndeny = 'rm'",
        "[approval]\ndeny = [1]",
        "[approval]\nallowed = ['rm']",
        "[[approval]]\ndeny = ['rm']",
        "[approval]\ndeny = ['rm(']",
    ],
)
def test_a_file_that_holds_anything_else_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(SetupError):
        Rules.from_toml(path)
    with pytest.raises(SetupError):
        Rules.from_toml(tmp_path / "absent.toml")


def test_a_rule_sees_the_defaults_of_what_the_model_left_out() -> None:
    ran = []

    @tool
    def remove(path: str, recursive: bool = True) -> str:
        """Remove a file."""
        ran.append(path)
        return "removed"

    tools = Toolset([remove], rules=Rules(deny=["remove(recursive=true)"]))
    left_out, given_false = tools.run_sync(
        [
            ToolCall("1", "remove", '{"path": "a"}'),
            ToolCall("2", "remove", '{"path": "b", "recursive": false}'),
        ]
    )
    assert (left_out.kind, given_false.kind) == ("denied", None)
    assert ran == ["b"]


def test_a_rule_looks_at_mended_and_canonical_values() -> None:
    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    tools = Toolset([pay], rules=Rules(deny=["pay(amount=5)"]))
    calls = [
        ToolCall(str(i), "pay", text)
        for i, text in enumerate(('{"amount":"5"}', '{"amount": 5.0}', '{"amount":6}'))
    ]
    assert [m.kind for m in tools.run_sync(calls)] == ["denied", "denied", None]


def test_a_rule_knows_a_tool_by_the_name_it_has_in_the_set() -> None:
    @tool
    def pay() -> str:
        """Pay."""
        return "paid"

    tools = Toolset([pay], rules=Rules(deny=["bank_*"])).with_prefix("bank_")
    [message] = tools.run_sync([ToolCall("1", "bank_pay")])
    assert message.kind == "denied"
    assert "deny bank_*" in message.text


@pytest.mark.parametrize(
    "value",
    [
        ["a", "/etc/passwd"],
        {"deep": [{"path": "/etc/x"}]},
        [["./../etc/../../etc/x", "/etc/y"]],
        [{"/etc/x": "w"}],
    ],
)
def test_what_is_denied_or_asked_about_is_so_wherever_it_stands_in_a_value(value: object) -> None:
    assert Rules(deny=["write(paths=/etc/*)"]).action("write", {"paths": value}) == "deny"
    assert Rules(ask=["write(paths=/etc/*)"]).action("write", {"paths": value}) == "ask"
    assert Rules(allow=["write(paths=/etc/*)"]).action("write", {"paths": value}) is None


def test_each_line_of_several_is_looked_at_for_what_is_denied() -> None:
    rules = Rules(deny=["shell(commands=rm *)"])
    rule = rules.rule("shell", {"commands": ["ls", "cd x; rm -rf ."]}, "commands")
    assert rule is not None and rule.action == "deny"


def test_only_the_argument_that_is_a_shell_command_is_read_as_one() -> None:
    rules = Rules(deny=["run(of=rm *)"])
    for value in ("ls; rm -rf .", ["rm", "-rf", "."]):
        as_command, as_text = (rules.rule("run", {"of": value}, name) for name in ("of", ""))
        assert as_command is not None
        assert as_text is None


def test_a_command_is_allowed_by_a_pattern_that_covers_all_of_it() -> None:
    rules = Rules(allow=["run(of=git *)"])
    assert rules.rule("run", {"of": "git log"}, "of") is not None
    assert rules.rule("run", {"of": "git log; rm x"}, "of") is None
    assert rules.rule("run", {"of": "git log; rm x"}) is not None


@pytest.mark.parametrize("kind", ["deny", "ask", "allow"])
@pytest.mark.parametrize("wrong", ["add", 3, None, [3], [None], [Rules()]])
def test_rules_that_are_no_list_of_texts_are_refused(kind: str, wrong: Any) -> None:
    with pytest.raises(SetupError, match=f"Rules\\({kind}=|{kind} .* is no rule"):
        Rules(**{kind: wrong})


@tool(effects=Effects(read_only=True, open_world=False, resources=("file:{path}",)))
def read(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("secrets", "docs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text(name)
    (tmp_path / "way").symlink_to("secrets")
    (tmp_path / "docs" / "link").symlink_to("../secrets/x")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(rules: Rules, path: str) -> str:
    [message] = Toolset([read], rules=rules).run_sync([ToolCall("1", "read", {"path": path})])
    return "denied" if message.kind == "denied" else message.text


@pytest.mark.parametrize("pattern", ["secrets/*", "way/*", "./secrets/x", "{}/secrets/*"])
@pytest.mark.parametrize(
    "path", ["secrets/x", "{}/secrets/x", "way/x", "docs/link", "{}/way/../way/x"]
)
def test_a_rule_that_denies_is_about_a_place_and_not_about_its_spelling(
    folder: Path, pattern: str, path: str
) -> None:
    rules = Rules(deny=[f"read(path={pattern.format(folder)})"])
    assert answer(rules, path.format(folder)) == "denied"
    assert answer(rules, "docs/x") == answer(rules, f"{folder}/docs/x") == "docs"


def test_a_rule_that_allows_a_folder_does_not_allow_what_a_link_in_it_leads_to(
    folder: Path,
) -> None:
    rules = Rules(ask=["read(path=nothing)"], allow=["read(path=docs/*)"])
    places = partial(resolve_argument, read)
    assert str(rules.rule("read", {"path": "docs/x"}, "", places)) == "allow read(path=docs/*)"
    assert rules.rule("read", {"path": "docs/link"}, "", places) is None


@pytest.mark.parametrize(
    "url",
    [
        "HTTP://X.example/secrets/a",
        "http://x.example./secrets/a",
        "http://x.example:80/secrets/a",
        "http://me@x.example/secrets/a",
        "http://x.example/b/../secrets/a",
        "http://x.example/%73ecrets/a",
        "http://x.example//secrets/a",
        "http://x.example\\secrets/a",
    ],
)
def test_a_rule_that_denies_an_address_is_about_where_it_leads(url: str) -> None:
    rules = Rules(deny=["fetch(url=http://x.example/secrets/*)"])
    assert rules.action("fetch", {"url": url}) == rules.action("fetch", {"url": [url]}) == "deny"
    assert rules.action("fetch", {"url": "http://x.example/other"}) is None


def test_a_rule_for_an_unknown_tool_is_only_a_warning_beside_a_tool_with_a_context(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def orchestrate(context: ToolContext) -> str:
        """Call other tools."""
        return ""

    Toolset([tool(orchestrate)], rules=Rules(deny=["inner(path=a)"]))
    assert "no tool is called 'inner'" in caplog.text


def test_an_argument_is_looked_for_only_in_tools_that_are_closed_and_known() -> None:
    def note(text: str) -> str:
        """Note it."""
        return text

    def tag(text: str, **more: str) -> str:
        """Tag it."""
        return text

    with pytest.raises(SetupError, match="note has no argument 'words'; it has text"):
        Toolset([tool(note)], rules=Rules(deny=["note(words=a)"]))
    Toolset([tool(note), tool(unknown_keys="allow")(tag)], rules=Rules(deny=["tag(words=a)"]))
