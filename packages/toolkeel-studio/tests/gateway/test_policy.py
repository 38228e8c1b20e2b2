"""The file of rules: who may call what, how often; and what is not understood is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkeel import SetupError
from toolkeel_studio.gateway.policy import Limit, Policy, read_policy

RULES = """
[approval]
deny = ["shell__*"]
ask = ["git__push", "files__write(path=/etc/*)"]

[limits]
"search__*" = "2/minute"

[cache]
"docs__live" = "30 seconds"
"docs__*" = "10 minutes"

[taint]
private = ["files__*", "web__mine"]
stranger = ["web__*"]
outward = ["mail__send"]

[clients.ada]
token = "${ADA_TOKEN}"
deny = ["git__*"]

[clients.bo]
token = "0123456789abcdef-bo"
"""


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Policy:
    monkeypatch.setenv("ADA_TOKEN", "0123456789abcdef-ada")
    file = tmp_path / "policy.toml"
    file.write_text(RULES)
    return read_policy(file)


def action(policy: Policy, client: str, tool: str, **arguments: object) -> str | None:
    rule = policy.find_rule(client, tool, arguments)
    return rule.action if rule else None


def test_rules_for_everybody_and_for_one_client_hold_together(policy: Policy) -> None:
    assert action(policy, "bo", "shell__run") == "deny"
    assert action(policy, "bo", "git__push") == "ask"
    assert action(policy, "ada", "git__push") == "deny"
    assert action(policy, "bo", "files__write", path="/etc/hosts") == "ask"
    assert action(policy, "bo", "files__write", path="/tmp/x") is None


@pytest.mark.parametrize(
    "line",
    ["rm -rf .", "cd x && rm -rf .", "'r'm x", "/bin/rm x", "$RM x", "x | sh", ["rm", "-rf", "."],
     ["bash", "-c", "ls; rm x"]],
)  # fmt: skip
@pytest.mark.parametrize("name", ["command", "cmd", "script", "shell", "Command"])
def test_lines_of_shell_are_read_as_such(tmp_path: Path, line: object, name: str) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(f'[approval]\ndeny = ["run__exec({name}=rm *)"]\nallow = ["*({name}=ls *)"]\n')
    policy = read_policy(file)
    assert action(policy, "bo", "run__exec", **{name: line}) == "deny"
    assert action(policy, "bo", "run__exec", **{name: "ls -l"}) == "allow"
    assert action(policy, "bo", "run__exec", **{name: "ls; curl x"}) is None
    beside = {other: "ls" for other in ("bash", "cmd", "command") if other != name}
    assert action(policy, "bo", "run__exec", **{**beside, name: line}) == "deny"


def test_only_what_is_denied_whatever_the_arguments_is_hidden(policy: Policy) -> None:
    assert policy.is_hidden("ada", "git__log") and not policy.is_hidden("bo", "git__log")
    assert not policy.is_hidden("bo", "files__write")


def test_a_token_leads_to_its_client_and_any_other_to_nobody(policy: Policy) -> None:
    assert policy.client_of_token("0123456789abcdef-ada") == "ada"
    assert policy.client_of_token("0123456789abcdef-bo") == "bo"
    assert policy.client_of_token("") is None and policy.client_of_token("\ud83d") is None


def test_what_is_said_of_a_tool_is_found_by_its_name(policy: Policy) -> None:
    assert policy.limits("search__web") == [Limit("search__*", 2, 60.0)]
    assert policy.limits("git__log") == []
    assert [policy.cache_seconds(tool) for tool in ("docs__live", "docs__read", "git__log")] == [
        30,
        600,
        0,
    ]
    assert policy.labels("files__read") == ["private"] and policy.labels("git__log") == []
    assert policy.labels("web__mine") == ["private", "stranger"]
    assert policy.is_outward("mail__send") and not policy.is_outward("mail__read")


def test_what_is_about_no_tool_is_named(policy: Policy) -> None:
    told = policy.unmatched_rules(["git__push", "files__write", "web__mine", "docs__live"])
    assert told == ["deny shell__*", "the limit of search__*", "outward mail__send"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[aproval]\ndeny=['x']", "no table [aproval]"),
        ("[approval]\nforbid=['x']", "not 'forbid'"),
        ("[approval]\ndeny='x'", "not 'deny'"),
        ("[limits]\n'*'='many'", "20/minute"),
        ("[cache]\n'*'=5", "10 minutes"),
        ("[cache]\n'*'='5 fortnights'", "10 minutes"),
        ("[taint]\nsecret=['x']", "private, stranger, outward; not 'secret'"),
        ("[clients.a]\ntoken='short'", "at least 16"),
        ("[clients.a]\ntoken='${NOT_SET_ANYWHERE}'", "NOT_SET_ANYWHERE"),
        ("[clients.a]\ntoken='0123456789abcdef'\n[clients.b]\ntoken='0123456789abcdef'", "two clients"),
        ("x = [", "policy.toml"),
        ("x = " + "[" * 3000, "policy.toml"),
        ("limits = ['x']", "[limits] is a table, not ['x']"),
        ("approval = 1", "[approval] is a table"),
        ("clients = 'ada'", "[clients] is a table"),
        ("[clients]\na = 1", "[clients.a] is a table"),
        ("[taint]\nprivate=[3]", "lists of texts"),
        ("[cache]\n'*'='" + "9" * 400 + " days'", "10 minutes"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_named(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    with pytest.raises(SetupError) as caught:
        read_policy(file)
    assert says in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"none\.toml"):
        read_policy(tmp_path / "none.toml")
