from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.define.names import (
    COMMON,
    POLICIES,
    NamePolicy,
    check_name,
    hashed_name,
    unique_names,
    wire_name,
    wire_names,
)
from toolkeel.errors import DefinitionError, DuplicateToolError

ANY_NAME = st.one_of(
    st.text("ab.-_/:", min_size=1, max_size=6),
    st.text("ab0.", min_size=60, max_size=90),
    st.text(min_size=1, max_size=20),
    st.sampled_from(["查询天气", "天气", "weather.get", "weather_get", "9lives", "get-weather"]),
)
POLICY = st.sampled_from(sorted({policy.alphabet for policy in POLICIES.values()})).flatmap(
    lambda letters: st.sampled_from([p for p in POLICIES.values() if p.alphabet == letters])
)
# the vendors' own words for what they take
DOCUMENTED = {
    "openai-chat": r"[a-zA-Z0-9_-]{1,64}",
    "openai-responses": r"[a-zA-Z0-9_-]{1,64}",
    "anthropic": r"[a-zA-Z0-9_-]{1,64}",
    "bedrock": r"[a-zA-Z0-9_-]{1,64}",
    "mistral": r"[a-zA-Z0-9_-]{1,64}",
    "compatible": r"[a-zA-Z0-9_-]{1,64}",
    "gemini": r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}",
    "gemini-legacy": r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}",
    "mcp": r"[A-Za-z0-9_.-]{1,128}",
    "plain": r"\S{1,128}",
}


@pytest.mark.parametrize("name", ["weather", "查询天气", "weather.get", "a/b", "наука", "é", "🌦"])
def test_a_tool_may_be_called_anything_without_spaces(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("", "name='...'"),
        ("get weather", "'get_weather'"),
        ("a\nb", "'a_b'"),
        ("a\x00b", "'a_b'"),
        ("全角 空格", "'全角_空格'"),
        ("zero\u200bwidth", "'zero_width'"),
        ("x" * 129, "at most 128"),
        ("half\ud83d", "'half_'"),
    ],
)
def test_a_bad_name_is_refused_with_one_that_would_do(name: str, fix: str) -> None:
    with pytest.raises(DefinitionError, match=re.escape(fix)):
        check_name(name)


@given(st.text(min_size=1, max_size=40))
def test_the_name_offered_instead_is_accepted(name: str) -> None:
    try:
        check_name(name)
    except DefinitionError as error:
        offered = str(error).rpartition("use ")[2].partition("; ")[0]
        assert check_name(eval(offered)) != name


@given(ANY_NAME, st.sampled_from(sorted(DOCUMENTED)))
def test_every_alias_is_what_the_provider_documents(name: str, target: str) -> None:
    alias = wire_name(name, POLICIES[target])
    assert re.fullmatch(DOCUMENTED[target], alias)
    if re.fullmatch(DOCUMENTED[target], name):
        assert alias == name


def test_every_policy_is_held_against_its_documentation() -> None:
    assert DOCUMENTED.keys() == POLICIES.keys()


def test_a_dotted_name_keeps_its_words_without_a_hash() -> None:
    assert wire_name("weather.get") == "weather_get"


def test_a_chinese_name_becomes_a_hash_and_keeps_its_latin_words() -> None:
    assert re.fullmatch("tool_[0-9a-f]{8}", wire_name("查询天气"))
    assert re.fullmatch("weather_[0-9a-f]{8}", wire_name("查询weather"))
    assert wire_name("查询天气") != wire_name("查询新闻")


def test_a_long_name_keeps_its_beginning_and_differs_by_its_end() -> None:
    one, other = wire_name("x" * 70 + "1"), wire_name("x" * 70 + "2")
    assert one != other
    assert one.startswith("x" * 55)
    assert len(one) == len(other) == 64


def test_gemini_gets_a_letter_in_front() -> None:
    assert wire_name("9lives", POLICIES["gemini"]).startswith("tool_9lives_")
    assert wire_name("9lives", COMMON) == "9lives"


@given(st.lists(ANY_NAME, unique=True, max_size=12), POLICY)
def test_aliases_of_a_set_are_valid_and_can_be_turned_round(
    names: list[str], policy: NamePolicy
) -> None:
    aliases = wire_names(names, policy)
    assert list(aliases) == names
    assert all(policy.accepts(alias) for alias in aliases.values())
    assert {alias: name for name, alias in aliases.items()}.keys() == {*aliases.values()}
    assert len({*aliases.values()}) == len(names)
    for name in names:
        if policy.accepts(name):
            assert aliases[name] == name


@given(st.lists(ANY_NAME, unique=True, min_size=2, max_size=12), POLICY, st.randoms())
def test_aliases_do_not_depend_on_the_order_of_the_set(
    names: list[str], policy: NamePolicy, random: object
) -> None:
    shuffled = list(names)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert wire_names(shuffled, policy) == wire_names(names, policy)


def test_names_that_would_get_the_same_alias_are_told_apart() -> None:
    aliases = wire_names(["a.b", "a:b", "a_c", "a.c"])
    assert aliases["a_c"] == "a_c"
    assert aliases["a.b"] != aliases["a:b"]
    assert all(re.fullmatch("a_[bc]_[0-9a-f]{8}", aliases[n]) for n in ("a.b", "a:b", "a.c"))


def test_a_hash_that_is_already_somebodys_name_grows() -> None:
    taken = hashed_name("查询天气")
    aliases = wire_names(["查询天气", taken])
    assert aliases[taken] == taken
    assert re.fullmatch("tool_[0-9a-f]{12}", aliases["查询天气"])


def test_the_same_name_twice_is_refused() -> None:
    with pytest.raises(DuplicateToolError, match="'a'"):
        wire_names(["a", "b", "a"])


def test_names_of_a_listing_are_changed_only_where_they_must_and_never_collide() -> None:
    names = unique_names(["a b", "a_b", "ok", "a  b", "查询"])
    assert (names["a_b"], names["ok"], names["查询"]) == ("a_b", "ok", "查询")
    assert len(set(names.values())) == 5 and all(map(check_name, names.values()))
