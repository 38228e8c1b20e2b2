"""The audit log: every line once, on the disk before it is said to be."""

from __future__ import annotations

import asyncio
import json
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import SetupError
from toolkeel_studio.gateway.audit import AuditFile, digest_arguments


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_every_entry_is_one_line_and_what_was_waited_for_is_there(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditFile(path)

    async def work() -> None:
        for number in range(50):
            log.write({"n": number, "text": "猫\n"})
        await asyncio.gather(*(log.sync() for _ in range(20)))
        assert [entry["n"] for entry in lines(path)] == list(range(50))

    asyncio.run(work())
    log.write({"n": 50})
    log.close()
    assert lines(path)[-1]["n"] == 50
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_audit_log_is_appended_to(tmp_path: Path) -> None:
    for number in range(2):
        log = AuditFile(tmp_path / "a")
        log.write({"n": number})
        log.close()
    assert [entry["n"] for entry in lines(tmp_path / "a")] == [0, 1]


def test_a_log_that_cannot_be_written_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot be written"):
        AuditFile(tmp_path / "none" / "a")


def test_a_log_that_was_closed_lets_no_call_be_made(tmp_path: Path) -> None:
    log = AuditFile(tmp_path / "a")
    log.close()
    with pytest.raises(OSError, match="closed"):
        asyncio.run(asyncio.wait_for(log.sync(), 10))


@pytest.mark.parametrize(("name", "mode"), [("a", 0o622), ("a.key", 0o644), ("a.key", 0o660)])
def test_a_log_or_key_that_others_could_get_at_is_none(
    tmp_path: Path, name: str, mode: int
) -> None:
    AuditFile(tmp_path / "a").close()
    (tmp_path / name).chmod(mode)
    with pytest.raises(SetupError, match=f"{name}.*chmod 600"):
        AuditFile(tmp_path / "a")


@pytest.mark.parametrize(("name", "mode"), [("a", 0o622), ("a.key", 0o644)])
def test_a_log_or_key_that_is_exchanged_while_it_is_looked_at_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, mode: int
) -> None:
    AuditFile(tmp_path / "a").close()
    before = (tmp_path / "a").stat()
    (tmp_path / name).chmod(mode)  # as another's would be
    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", lambda *_, **__: before)
        with pytest.raises(SetupError, match=f"{name}.*chmod 600"):
            AuditFile(tmp_path / "a")


def test_a_loop_that_ended_while_it_waited_holds_up_nobody_else(tmp_path: Path) -> None:
    log = AuditFile(tmp_path / "audit.jsonl")
    gone = asyncio.new_event_loop()
    future: asyncio.Future[None] = gone.create_future()
    gone.close()
    with log._lock:
        log._waiting.append((gone, future))

    async def work() -> None:
        log.write({"n": 1})
        await asyncio.wait_for(log.sync(), 10)

    try:
        asyncio.run(work())
    finally:
        log.close()
    assert [entry["n"] for entry in lines(tmp_path / "audit.jsonl")] == [1]


def test_who_waits_is_told_that_the_disk_is_full(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/dev/full")
    log = AuditFile(tmp_path / "a")
    log.write({"n": 1})
    with pytest.raises(OSError):
        asyncio.run(log.sync())


@given(st.dictionaries(st.text(), st.integers() | st.text()))
def test_arguments_have_one_hash_whatever_their_order(arguments: dict[str, object]) -> None:
    turned = dict(reversed(arguments.items()))
    assert digest_arguments(arguments, b"k") == digest_arguments(turned, b"k")
    assert digest_arguments(arguments, b"k") != digest_arguments(arguments, b"other")


def test_the_key_of_the_hashes_is_made_once_and_its_owners_alone(tmp_path: Path) -> None:
    keys = []
    for _ in range(2):
        log = AuditFile(tmp_path / "a")
        keys.append(log.key)
        log.close()
    assert keys[0] == keys[1] and len(keys[0]) == 32
    assert stat.S_IMODE((tmp_path / "a.key").stat().st_mode) == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "a.key"]


@pytest.mark.parametrize("text", ["", "00", "not hex", "00" * 33])
def test_a_key_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.key").write_text(text)
    (tmp_path / "a.key").chmod(0o600)
    with pytest.raises(SetupError, match="key"):
        AuditFile(tmp_path / "a")


@given(st.text())
def test_no_text_makes_a_second_line(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = AuditFile(Path(folder) / "a")
        log.write({"why": text})
        log.close()
        [entry] = lines(Path(folder) / "a")
        assert entry["why"] == text or any("\ud800" <= c <= "\udfff" for c in text)
