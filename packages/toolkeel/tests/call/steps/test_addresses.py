"""Addresses in one form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.call.steps.addresses import (
    _is_below,
    are_trusted_hosts,
    canonical_address,
    canonical_host,
    find_addressees,
    find_addresses,
    mentioned_addresses,
)

HOSTS = st.lists(st.sampled_from(["a", "b", "example"]), min_size=1, max_size=3).map(".".join)


@given(HOSTS, HOSTS)
def test_a_host_is_trusted_by_its_whole_name_and_those_below_by_a_star(host: str, at: str) -> None:
    assert _is_below(host, at) is (host == at)
    assert _is_below(host, f"*.{at}") is host.endswith(f".{at}")


def test_a_trusted_host_is_no_other_that_folds_to_the_same_letters() -> None:
    assert are_trusted_hosts(["https://GROSS.example./"], ("gross.example",))
    assert are_trusted_hosts(["https://a.xn--gro-7ka.example/"], ("*.groß.example",))
    assert not are_trusted_hosts(["https://gross.example/"], ("groß.example",))


@given(st.text(max_size=30))
def test_the_one_form_of_a_host_is_its_own_form_in_every_case_and_with_a_dot(host: str) -> None:
    form = canonical_host(host)
    assert canonical_host(form).rstrip(".") == form.rstrip(".")
    if host.isascii() and not host.endswith("."):
        assert form == canonical_host(host.upper()) == canonical_host(f"{host}.")


@given(st.from_regex(r"[a-zA-Z0-9/?=&%.~;,!)-]{0,30}[a-zA-Z0-9/]", fullmatch=True))
def test_path_and_query_stay_byte_for_byte(rest: str) -> None:
    form = canonical_address(f"HTTPS://X.Example./{rest}")
    assert form == f"https://x.example/{rest}"
    assert form in mentioned_addresses(f"Look at https://x.example/{rest}.")


@pytest.mark.parametrize(
    ("text", "address", "named"),
    [
        ("Post it to www.ours.example.They wrote", "www.ours.example", True),
        ("Mail ada@ours.example.Then stop", "ada@ours.example", True),
        ("see https://ours.example/a.Then", "https://ours.example/a", True),
        ("www.ours.example.they wrote", "www.ours.example", False),
        ("www.ours.example.They/wrote", "www.ours.example", False),
        ("www.ours.EXAMPLE.They wrote", "www.ours.example", False),
    ],
)
def test_a_sentence_ends_also_where_no_space_follows(text: str, address: str, named: bool) -> None:
    assert (canonical_address(address) in mentioned_addresses(text)) is named


@pytest.mark.parametrize(
    "piece", ["x", "a.", "@", "https://", "%40", "\nbcc: ", "(", "www.", 'a "', "a@b <"]
)
def test_addresses_are_looked_for_in_linear_time(piece: str) -> None:
    """What takes quadratic time would take minutes here."""
    text = (piece * 60_000)[:60_000]
    for each in (text, f"a{' ' * 60_000}b@", f"{text}@x"):
        find_addresses(each)
        find_addressees(f"{each}\n\n{each}")
        mentioned_addresses(each)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("FYI\n\nFrom: Ada <ada@x.example>\nCc: eve@evil.example\nWrite to me@x.example", []),
        ("word " * 50 + "eve@evil.example", []),
        ("Bcc: eve@evil.example\n\nHello", ["eve@evil.example"]),
        ("Hello\nBcc: eve@evil.example\r\n\r\nada@x.example", ["eve@evil.example"]),
        ("Look\n\n@eve@evil.example, +max@x.example", ["eve@evil.example", "+max@x.example"]),
        ("Look\n\nhttps://me@evil.example/?a", ["https://me@evil.example/?a"]),
        ("for eve@evil.example only", ["eve@evil.example"]),
        ("eve@evil.example\n\n", ["eve@evil.example"]),
        ("eve (x) @ evil.example,\n\n.", ["eve@evil.example"]),
        ("ada@x.example,\n\neve@evil.example", ["ada@x.example", "eve@evil.example"]),
        ("eve@evil.example, " * 50 + "ada@x.example", ["eve@evil.example", "ada@x.example"]),
        ("eve@evil.example " * 50, ["eve@evil.example"]),
    ],
)
def test_within_a_letter_a_mail_address_counts_only_in_a_list_or_a_header_or_with_a_sign(
    text: str, found: list[str]
) -> None:
    assert set(found) <= set(find_addressees(text)) <= {*found, "me@evil.example"}


@given(st.text("ab.+@:/ ", max_size=40))
def test_an_address_is_found_in_any_text_around_it(text: str) -> None:
    assert "eve@evil.example" in find_addresses(f"{text} eve@evil.example {text}")
    assert "https://x.example/a" in find_addresses(f"{text} https://x.example/a {text}")
