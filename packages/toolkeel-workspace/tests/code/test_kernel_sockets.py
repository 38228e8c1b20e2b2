"""What a kernel says passes through whole, and no message without an end fills our memory."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import zmq
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkeel_workspace.code.kernel_sockets import Relay

MOST = 1 << 20


def joined(use: Callable[[Path, Path, Relay], Awaitable[None]]) -> None:
    """Run something with a relay between two sockets: its own path, the far one, and itself."""

    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs, relay = Path(folder, "c"), Path(folder, "k"), Relay(MOST)
            await relay.start([(ours, theirs)])
            try:
                await asyncio.wait_for(use(ours, theirs, relay), 60)
            finally:
                await relay.aclose()

    asyncio.run(run())


@settings(max_examples=20)
@given(st.lists(st.lists(st.binary(max_size=400) | st.just(b"x" * 70_000), min_size=1, max_size=5)))
def test_messages_of_real_sockets_pass_both_ways(messages: list[list[bytes]]) -> None:
    def talk(ours: Path, theirs: Path) -> None:
        with zmq.Context() as context, context.socket(zmq.PAIR) as a, context.socket(zmq.PAIR) as b:
            a.bind(f"ipc://{theirs}")
            b.connect(f"ipc://{ours}")
            for parts in messages:
                for one, other in ((a, b), (b, a)):
                    one.send_multipart(parts)
                    assert other.recv_multipart() == parts

    async def use(ours: Path, theirs: Path, relay: Relay) -> None:
        await asyncio.to_thread(talk, ours, theirs)
        assert not relay.has_overrun

    joined(use)


@pytest.mark.parametrize("part", [b"\x01\xff" + b"x" * 255, b"\x01\x00", b"\x05\x01a"])
def test_a_message_without_an_end_is_cut_off(part: bytes) -> None:
    async def far(_: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        to.write(bytes(64))
        try:
            while True:
                to.write(part * 100)
                await to.drain()
        except OSError:
            pass  # the relay reads no more
        finally:
            to.close()

    async def use(ours: Path, theirs: Path, relay: Relay) -> None:
        async with await asyncio.start_unix_server(far, theirs):
            near, writer = await asyncio.open_unix_connection(ours)
            assert len(await near.read()) <= MOST + 64
            assert relay.has_overrun
            writer.close()

    joined(use)


def test_one_part_larger_than_the_bound_is_not_read() -> None:
    async def far(answer: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        to.write(bytes(64) + b"\x02" + (1 << 62).to_bytes(8, "big"))
        await answer.read()
        to.close()

    async def use(ours: Path, theirs: Path, relay: Relay) -> None:
        async with await asyncio.start_unix_server(far, theirs):
            near, writer = await asyncio.open_unix_connection(ours)
            assert await near.read() == bytes(64)
            assert relay.has_overrun
            writer.close()

    joined(use)
