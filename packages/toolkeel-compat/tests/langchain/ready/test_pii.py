"""Personal data is replaced, masked, hashed or refused before the model reads it."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import (
    PIIDetectionError,
    PIIMiddleware,
    create_agent,
    detect_credit_card,
    detect_email,
    detect_ip,
    detect_mac_address,
    detect_url,
    tool,
)


@tool
def find(name: str) -> str:
    """Find a person."""
    return f"{name}: bob@x.org, 10.1.2.3"


def run(text: str, *middleware: Any, lines: Any = ("hello",)) -> tuple[Scripted, list[str]]:
    model = Scripted([*lines])
    state = create_agent(model, [find], middleware=middleware).invoke({"messages": text})
    return model, [one.content for one in state["messages"]]


@pytest.mark.parametrize(
    ("kind", "strategy", "text", "shown"),
    [
        ("email", "redact", "I am ada@x.org, or b@y.com", "I am [REDACTED_EMAIL], or [REDACTED_EMAIL]"),
        ("email", "mask", "ada@x.org", "ada@****.org"),
        ("email", "hash", "ada@x.org", "<email_hash:0f3a8e22>"),
        ("credit_card", "mask", "4111-1111-1111-1111", "****-****-****-1111"),
        ("credit_card", "mask", "4111111111111111", "************1111"),
        ("credit_card", "redact", "4111111111111112", "4111111111111112"),
        ("ip", "mask", "1.2.3.4 999.1.1.1", "*.*.*.4 999.1.1.1"),
        ("mac_address", "mask", "aa:bb:cc:dd:ee:ff", "**:**:**:**:**:ff"),
        ("url", "mask", "https://x.org/a?b www.q.org x.org/p plain.org", "[MASKED_URL] [MASKED_URL] [MASKED_URL] plain.org"),
    ],
)  # fmt: skip
def test_a_kind_of_data_is_replaced_in_what_the_user_says(
    kind: str, strategy: Any, text: str, shown: str
) -> None:
    model, said = run(text, PIIMiddleware(kind, strategy=strategy))
    if strategy == "hash":
        shown = said[0]
        assert shown.startswith("<email_hash:") and len(shown) == len("<email_hash:>") + 8
    assert model.requests[0].messages[0].text == said[0] == shown


def test_a_kind_of_your_own_has_a_pattern_or_a_function() -> None:
    key = PIIMiddleware("api_key", detector=r"sk-[a-z0-9]{4}", strategy="mask")
    assert run("my sk-ab12 key", key)[1][0] == "my ****ab12 key"

    def at(text: str) -> list[dict[str, Any]]:
        return [{"text": text[:3], "start": 0, "end": 3}]

    assert run("123 is it", PIIMiddleware("ssn", detector=at))[1][0] == "[REDACTED_SSN] is it"
    with pytest.raises(ValueError, match="Unknown PII type: ssn"):
        PIIMiddleware("ssn")


def test_results_and_replies_are_looked_at_if_asked_for() -> None:
    lines = [call("find", {"name": "Bob"}), "write to bob@x.org"]
    both = PIIMiddleware("email", apply_to_tool_results=True, apply_to_output=True)
    model, said = run("go", both, PIIMiddleware("ip", strategy="mask"), lines=lines)
    assert said[2:] == ["Bob: [REDACTED_EMAIL], 10.1.2.3", "write to [REDACTED_EMAIL]"]
    assert model.requests[1].messages[-1].text == said[2]
    assert run("go", PIIMiddleware("email"), lines=lines)[1][-1] == "write to bob@x.org"


def test_a_run_may_be_refused() -> None:
    with pytest.raises(PIIDetectionError, match=r"1 instance.* of email") as caught:
        run("ada@x.org", PIIMiddleware("email", strategy="block"))
    assert caught.value.pii_type == "email" and caught.value.matches[0]["value"] == "ada@x.org"


@pytest.mark.parametrize(
    ("detect", "text", "values"),
    [
        (detect_url, "see...x.org/p,-y.org/q a.b.--z.c/d my-host.x--y.org/p?q=1", ["x.org/p,-y.org/q", "z.c/d", "my-host.x--y.org/p?q=1"]),
        (detect_url, "x.https://a.b www.a.b.www.c a.www.b.c/d u@v.w/z x.y, http://", ["https://a.b", "www.a.b.www.c", "a.www.b.c/d", "v.w/z"]),
        (detect_email, "...ada@x.org +b.c+d@y.z-w.com <%e@f.gh> @i.jk l@m", ["ada@x.org", "b.c+d@y.z-w.com", "e@f.gh"]),
        (detect_url, "a." * 20_000, []),
        (detect_url, "a-a.-" * 8_000 + "a--a." * 8_000, []),
        (detect_email, "a." * 20_000, []),
        (detect_email, "a@" * 20_000, []),
        (detect_ip, "1.1.1111." * 5_000, []),
        (detect_credit_card, "1111-" * 8_000 + "x", []),
        (detect_mac_address, "aa:" * 13_000 + "g", ["aa:aa:aa:aa:aa:aa"] * 2_166),
    ],
)  # fmt: skip
def test_places_are_found_between_punctuation_and_in_long_chains(
    detect: Any, text: str, values: list[str]
) -> None:
    assert [one["value"] for one in detect(text)] == values
