"""An agent takes a session by name, by path or itself, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkeel import RunState, SetupError, UserMessage
from toolkeel.agent.run_state import InnerRun
from toolkeel.agent.session_interface import JOURNAL_KEY, dump_inner_runs, resolve_session
from toolkeel.approvals import Decision
from toolkeel.sessions import Session, Sessions


def test_a_session_is_meant_by_its_name_its_path_or_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLKEEL_DATA", str(tmp_path))
    session = Sessions()["ada"]
    assert resolve_session(session) is session
    for named in ("ada", tmp_path / "other.db"):
        assert isinstance(resolve_session(named), Session)
    for wrong, told in (
        (7, "7 is no session; give its name"),
        (Sessions(), r"^Sessions is no session"),
    ):
        with pytest.raises(SetupError, match=told):
            resolve_session(wrong)  # type: ignore[arg-type]


def test_of_runs_that_wait_within_the_decisions_are_kept_and_what_was_counted() -> None:
    """Where they stand, their own entries say."""
    let = Decision("t", "seal", "approve")
    deep = {"2": InnerRun(RunState((UserMessage("psst"),)), let)}
    inner = {"1": InnerRun(RunState((UserMessage("hi"),), inner=deep))}
    state = RunState((UserMessage("ho"),), (), inner, counts={"requests": 3})
    saved = RunState.from_json(dump_inner_runs(state), JOURNAL_KEY)
    kept = {"1": InnerRun(RunState((), inner={"2": InnerRun(RunState(()), let)}))}
    assert saved == RunState((), (), kept, counts={"requests": 3})
