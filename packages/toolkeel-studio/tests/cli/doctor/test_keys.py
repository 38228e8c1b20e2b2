"""Keys are named and never shown."""

from __future__ import annotations

import pytest

from tests.cli.bare import bare, sections  # noqa: F401
from tests.cli.conftest import Here

pytestmark = pytest.mark.usefixtures("bare")


def test_a_key_is_named_and_never_shown(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-very-secret")
    monkeypatch.setenv("HF_TOKEN", "hf-very-secret")
    for words in (["doctor"], ["doctor", "--json"]):
        ended = here(*words)
        assert "very-secret" not in ended.out + ended.err
        assert "DEEPSEEK_API_KEY set" in ended.out
        assert "HF_TOKEN set" in ended.out
    found = sections(here)
    assert found["Keys"]["deepseek"]["data"] == {"set": ["DEEPSEEK_API_KEY"]}
    assert found["Models"]["-m auto"]["data"]["model"] == "deepseek:deepseek-chat"


@pytest.mark.parametrize("key", ["sk-1\n", '"sk-1"', " sk-1"])
def test_a_key_that_was_pasted_badly_is_a_problem(
    here: Here, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    ended = here("doctor")
    assert ended.code == 1
    fix = "set OPENAI_API_KEY again, without spaces, line ends and quotes around it"
    assert f"Next\n  {fix}" in ended.out
