"""A history policy is typed as a word and a number."""

from __future__ import annotations

import pytest

from toolkeel.sessions.history_policies import KeepTokens, KeepTurns
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_studio.cli.history_option import read_history


def test_turns_and_tokens_are_policies() -> None:
    turns, tokens = read_history("turns:20"), read_history("tokens:6000")
    assert isinstance(turns, KeepTurns)
    assert (turns.keep, turns.at) == (20, 20)
    assert isinstance(tokens, KeepTokens)
    assert tokens.high == 6000
    assert read_history("") is None
    assert read_history("tokens:1") is not None


@pytest.mark.parametrize(
    "text", ["20", "turns", "turns:", "turns:0", "turns:-1", "words:5", "tokens:x"]
)
def test_another_form_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageProblem, match=r"expected turns:N\|tokens:N"):
        read_history(text)
