"""Real Python with all its packages: an IPython kernel that never runs outside a sandbox.

The kernel has no network, not even loopback; it is spoken to through Unix sockets in a folder of
their own. What it sends is taken for data of bounded size: what runs in the kernel knows its key,
so nothing it says is believed beyond that.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import secrets
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from queue import Empty
from time import perf_counter
from typing import Any

from toolkeel._common.needs_extra import needs_extra
from toolkeel.content import Image
from toolkeel.context import ToolContext
from toolkeel.errors import ToolError
from toolkeel.executors.command_limits import Limits
from toolkeel.executors.process_tree import Command, Running, start
from toolkeel_workspace.code.code_limits import CodeLimits, Printed, Ran
from toolkeel_workspace.code.kernel_sockets import Relay
from toolkeel_workspace.sandbox.confine import Network, Sandbox

with needs_extra("CodeInterpreterTool(python='sandbox')", "code"):
    import zmq.asyncio
    from jupyter_client.asynchronous.client import AsyncKernelClient

START = 60.0
"""Seconds a kernel may take to start."""
MAX_MESSAGE = 16 << 20
"""Bytes of one message from a kernel, all its parts together; a larger one ends it."""
_GRACE = 3.0
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_PICTURES = ("image/png", "image/jpeg")


class KernelInterpreter:
    """One kernel: what code defines, later code finds.

    Args:
        limits: What each piece of code may use.
        folder: Where it works; all it may change.
        network: What it may reach, as a `Sandbox` takes it.
    """

    def __init__(self, limits: CodeLimits, folder: Path, *, network: Network = False) -> None:
        self._limits = limits
        self._folder = folder
        self._network = network
        self._link = ""
        self._relay = Relay(MAX_MESSAGE)
        self._command: Command | None = None
        self._running: Running | None = None
        self._drain: asyncio.Task[None] | None = None
        self._client: AsyncKernelClient | None = None

    async def run(self, code: str, call: ToolContext) -> Ran:
        """Run a piece of code.

        Raises:
            SetupError: there is no sandbox on this machine.
            ToolError: the kernel does not start.
        """
        client = self._client or await self._start()
        seen = _Seen(self._limits)
        whole = False
        try:
            asked = client.execute(code, store_history=False, allow_stdin=False)
            ended = await self._watch(client, asked, seen, self._limits.seconds)
            if not ended and self._alive():
                seen.error = f"TimeoutError: the code ran for more than {self._limits.seconds:g} s"
                client.control_channel.send(client.session.msg("interrupt_request", {}))
                ended = await self._watch(client, asked, seen, _GRACE)
            whole = ended
            lost = "" if ended else self._why()
            error = seen.error or ("" if ended else f"The interpreter ended: {lost}")
            return Ran(seen.printed.text(), error, tuple(seen.images), lost)
        finally:
            if not whole:
                await self.aclose()

    async def aclose(self) -> None:
        """End the kernel and all it has started."""
        client, self._client = self._client, None
        if client is not None:
            client.stop_channels()
            client.context.destroy(linger=0)
        drain, self._drain = self._drain, None
        if drain is not None:
            drain.cancel()
            await asyncio.gather(drain, return_exceptions=True)
        relay, self._relay = self._relay, Relay(MAX_MESSAGE)
        await relay.aclose()
        running, self._running = self._running, None
        if running is not None:
            await asyncio.shield(running.stop())
        if self._command is not None:
            self._command.close()
            self._command = None
        shutil.rmtree(self._link, ignore_errors=True)

    def _alive(self) -> bool:
        running = self._running is not None and self._running.process.returncode is None
        return running and not self._relay.overrun

    def _why(self) -> str:
        if self._relay.overrun:
            return f"the code sent a message of more than {MAX_MESSAGE >> 20} MB"
        return "the code ran for too long" if self._alive() else "its process died"

    async def _start(self) -> AsyncKernelClient:
        # A Unix socket's path may have 107 characters: the folder stands near the root.
        self._link = tempfile.mkdtemp(prefix="tw-", dir="/tmp")
        shared, ours = Path(self._link, "k"), Path(self._link, "c")
        for folder in (shared, ours):  # what runs in the kernel sees the first alone
            folder.mkdir()
        place, info = _connection(shared)
        limits = Limits(memory=self._limits.memory, file_size=self._limits.files)
        sandbox = Sandbox(
            "workspace",
            [self._folder, shared],
            network=self._network,
            env={"MPLBACKEND": "module://matplotlib_inline.backend_inline", "PYTHONUTF8": "1"},
            limits=limits,
            unix_sockets=True,  # they are what we speak to it through
        )
        words = [sys.executable, "-m", "ipykernel_launcher", "-f", str(place)]
        words += ["--HistoryManager.enabled=False", "--InteractiveShell.colors=nocolor"]
        self._command = sandbox.command(words, cwd=self._folder)
        try:
            self._running = await start(self._command, merged=True)
            await self._relay.start((ours / name.name, name) for name in _sockets(shared))
            info["ip"] = str(ours / "s")
            said = Printed(2000)
            self._drain = asyncio.ensure_future(_drained(self._running, said))
            self._client = await self._connected(info, said)
        except BaseException:
            await self.aclose()
            raise
        return self._client

    async def _connected(self, info: Any, said: Printed) -> AsyncKernelClient:
        """A client of the kernel, once it answers.

        Raises:
            ToolError: it never does.
        """
        assert self._running is not None
        context = zmq.asyncio.Context()
        context.setsockopt(zmq.RCVHWM, 100)
        context.setsockopt(zmq.LINGER, 0)
        client = AsyncKernelClient(context=context)
        client.load_connection_info(info)
        client.start_channels(hb=False, stdin=False)
        ended = asyncio.ensure_future(self._running.process.wait())
        ready = asyncio.ensure_future(_ready(client))
        try:
            await asyncio.wait({ended, ready}, timeout=START, return_when="FIRST_COMPLETED")
            if not ready.done():
                raise ToolError(
                    "The Python interpreter did not start.", {"said": _plain(said.text())}
                )
            ready.result()
        except BaseException:
            client.stop_channels()
            context.destroy(linger=0)
            raise
        finally:
            for task in (ended, ready):
                task.cancel()
            await asyncio.gather(ended, ready, return_exceptions=True)
        return client

    async def _watch(
        self, client: AsyncKernelClient, asked: str, seen: _Seen, seconds: float
    ) -> bool:
        """Take in what the kernel says of one piece of code; whether it has ended."""
        end = perf_counter() + seconds
        while (left := end - perf_counter()) > 0 and self._alive():
            with suppress(Empty):
                message = await client.get_iopub_msg(timeout=min(left, 0.5))
                if message.get("parent_header", {}).get("msg_id") == asked and seen.take(message):
                    return True
        return False


_CHANNELS = ("shell", "iopub", "stdin", "control", "hb")


def _sockets(folder: Path) -> list[Path]:
    return [folder / f"s-{number}" for number, _ in enumerate(_CHANNELS, 1)]


def _connection(folder: Path) -> tuple[Path, Any]:
    """The file that tells a kernel where its sockets are, and what it says."""
    info = {
        "transport": "ipc",
        "ip": str(folder / "s"),
        "key": secrets.token_hex(16),
        "signature_scheme": "hmac-sha256",
        "kernel_name": "",
        **{f"{name}_port": number for number, name in enumerate(_CHANNELS, 1)},
    }
    place = folder / "connection.json"
    place.write_text(json.dumps(info), "utf-8")
    return place, info


async def _ready(client: AsyncKernelClient) -> None:
    """Wait until the kernel answers, and until it is heard on the channel of its output."""
    while True:
        asked = client.kernel_info()
        for _ in range(10):
            with suppress(Empty):
                message = await client.get_iopub_msg(timeout=0.1)
                if message.get("parent_header", {}).get("msg_id") == asked:
                    return


async def _drained(running: Running, said: Printed) -> None:
    """Read what the process itself says, so that it never waits for a reader."""
    stream = running.process.stdout
    while stream is not None and (piece := await stream.read(1 << 16)):
        said.add(piece.decode("utf-8", "replace"))


class _Seen:
    """What a kernel has said of one piece of code, within the limits."""

    def __init__(self, limits: CodeLimits) -> None:
        self._most = limits.images
        self.printed = Printed(limits.output)
        self.images: list[Image] = []
        self.error = ""

    def take(self, message: Any) -> bool:
        """Take in one message; whether it is the last."""
        content = message.get("content")
        if not isinstance(content, dict):
            return False
        match message.get("msg_type"):
            case "status":
                return content.get("execution_state") == "idle"
            case "stream":
                self.printed.add(_plain(str(content.get("text", ""))))
            case "display_data" | "execute_result":
                self._show(content.get("data"))
            case "error":
                lines = content.get("traceback")
                lines = lines if isinstance(lines, list) else []
                self.error = self.error or _plain("\n".join(map(str, lines)))[-4000:]
        return False

    def _show(self, data: object) -> None:
        if not isinstance(data, dict):
            return
        for kind in _PICTURES:
            if isinstance(data.get(kind), str):
                self._picture(data[kind], kind)
                return
        if data.get("text/plain") is not None:
            self.printed.add(f"{_plain(str(data['text/plain']))}\n")

    def _picture(self, text: str, kind: str) -> None:
        if len(self.images) >= self._most:
            self.printed.add(f"[more than {self._most} pictures: the rest is not shown]\n")
            return
        with suppress(ValueError):
            self.images.append(Image(base64.b64decode(text), kind))


def _plain(text: str) -> str:
    """Text without the codes that colour it in a terminal."""
    return _ESCAPES.sub("", text)
