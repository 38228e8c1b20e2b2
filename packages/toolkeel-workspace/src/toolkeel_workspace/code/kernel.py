"""Real Python with all its packages: an IPython kernel that never runs outside a sandbox.

The kernel has no network, not even loopback; it is reached through Unix sockets in a folder of their own.
Code in the kernel knows its key, so messages from it are treated as untrusted data of limited size.
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
from toolkeel.executors.process_tree import Command, RunningCommand, start_command
from toolkeel_workspace.code.code_limits import CodeLimits, ExecutionResult, OutputBuffer
from toolkeel_workspace.code.kernel_sockets import Relay
from toolkeel_workspace.sandbox.confine import Network, Sandbox

with needs_extra("CodeInterpreterTool(python='sandbox')", "code"):
    import zmq.asyncio
    from jupyter_client.asynchronous.client import AsyncKernelClient

START_SECONDS = 60.0
"""Seconds a kernel may take to start."""
MAX_MESSAGE_BYTES = 16 << 20
"""Bytes of one message from a kernel, all its parts together; a larger one ends it."""
_INTERRUPT_SECONDS = 3.0
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_PICTURES = ("image/png", "image/jpeg")


class KernelInterpreter:
    """One kernel: later code finds what earlier code defined.

    Args:
        limits: Limits on each piece of code.
        folder: Where it works; the only writable folder.
        network: What it can reach, as for `Sandbox`.
    """

    def __init__(self, limits: CodeLimits, folder: Path, *, network: Network = False) -> None:
        self._limits = limits
        self._folder = folder
        self._network = network
        self._socket_folder = ""
        self._relay = Relay(MAX_MESSAGE_BYTES)
        self._command: Command | None = None
        self._running: RunningCommand | None = None
        self._drain: asyncio.Task[None] | None = None
        self._client: AsyncKernelClient | None = None

    async def run(self, code: str, call: ToolContext) -> ExecutionResult:
        """Run a piece of code.

        Raises:
            SetupError: there is no sandbox on this machine.
            ToolError: the kernel does not start.
        """
        client = self._client or await self._start()
        output = _KernelOutput(self._limits)
        is_intact = False
        try:
            message_id = client.execute(code, store_history=False, allow_stdin=False)
            ended = await self._collect_messages(
                client, message_id, output, self._limits.compute_seconds
            )
            if not ended and self._is_alive():
                output.error = (
                    f"TimeoutError: the code ran for more than {self._limits.compute_seconds:g} s"
                )
                client.control_channel.send(client.session.msg("interrupt_request", {}))
                ended = await self._collect_messages(client, message_id, output, _INTERRUPT_SECONDS)
            is_intact = ended
            lost = "" if ended else self._describe_end()
            error = output.error or ("" if ended else f"The interpreter ended: {lost}")
            return ExecutionResult(output.printed.text(), error, tuple(output.images), lost)
        finally:
            if not is_intact:
                await self.aclose()

    async def aclose(self) -> None:
        """End the kernel and all its processes."""
        client, self._client = self._client, None
        if client is not None:
            client.stop_channels()
            client.context.destroy(linger=0)
        drain, self._drain = self._drain, None
        if drain is not None:
            drain.cancel()
            await asyncio.gather(drain, return_exceptions=True)
        relay, self._relay = self._relay, Relay(MAX_MESSAGE_BYTES)
        await relay.aclose()
        running, self._running = self._running, None
        if running is not None:
            await asyncio.shield(running.stop())
        if self._command is not None:
            self._command.close()
            self._command = None
        shutil.rmtree(self._socket_folder, ignore_errors=True)

    def _is_alive(self) -> bool:
        running = self._running is not None and self._running.process.returncode is None
        return running and not self._relay.has_overrun

    def _describe_end(self) -> str:
        if self._relay.has_overrun:
            return f"the code sent a message of more than {MAX_MESSAGE_BYTES >> 20} MB"
        return "the code ran for too long" if self._is_alive() else "its process died"

    async def _start(self) -> AsyncKernelClient:
        # A Unix socket's path may have 107 characters: the folder is near the root.
        self._socket_folder = tempfile.mkdtemp(prefix="tw-", dir="/tmp")
        shared, ours = Path(self._socket_folder, "k"), Path(self._socket_folder, "c")
        for folder in (shared, ours):  # the kernel sees only the first
            folder.mkdir()
        place, info = _write_connection_file(shared)
        limits = Limits(memory=self._limits.memory_bytes, file_size=self._limits.written_bytes)
        sandbox = Sandbox(
            "workspace",
            [self._folder, shared],
            network=self._network,
            env={"MPLBACKEND": "module://matplotlib_inline.backend_inline", "PYTHONUTF8": "1"},
            limits=limits,
            unix_sockets=True,  # we reach the kernel through them
        )
        words = [sys.executable, "-m", "ipykernel_launcher", "-f", str(place)]
        words += ["--HistoryManager.enabled=False", "--InteractiveShell.colors=nocolor"]
        self._command = sandbox.build_command(words, cwd=self._folder)
        try:
            self._running = await start_command(self._command, merge_stderr=True)
            await self._relay.start((ours / name.name, name) for name in _list_sockets(shared))
            info["ip"] = str(ours / "s")
            said = OutputBuffer(2000)
            self._drain = asyncio.ensure_future(_drain_output(self._running, said))
            self._client = await self._connect(info, said)
        except BaseException:
            await self.aclose()
            raise
        return self._client

    async def _connect(self, info: Any, output: OutputBuffer) -> AsyncKernelClient:
        """Connect a client to the kernel and wait until it answers.

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
        ready = asyncio.ensure_future(_wait_until_ready(client))
        try:
            await asyncio.wait({ended, ready}, timeout=START_SECONDS, return_when="FIRST_COMPLETED")
            if not ready.done():
                raise ToolError(
                    "The Python interpreter did not start.", {"said": _strip_escapes(output.text())}
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

    async def _collect_messages(
        self, client: AsyncKernelClient, message_id: str, output: _KernelOutput, seconds: float
    ) -> bool:
        """Collect the kernel's messages for one piece of code. Return true if it ended."""
        end = perf_counter() + seconds
        while (left := end - perf_counter()) > 0 and self._is_alive():
            with suppress(Empty):
                message = await client.get_iopub_msg(timeout=min(left, 0.5))
                if message.get("parent_header", {}).get(
                    "msg_id"
                ) == message_id and output.add_message(message):
                    return True
        return False


_CHANNELS = ("shell", "iopub", "stdin", "control", "hb")


def _list_sockets(folder: Path) -> list[Path]:
    return [folder / f"s-{number}" for number, _ in enumerate(_CHANNELS, 1)]


def _write_connection_file(folder: Path) -> tuple[Path, Any]:
    """Write the file that tells a kernel its sockets. Return its path and content."""
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


async def _wait_until_ready(client: AsyncKernelClient) -> None:
    """Wait until the kernel answers and its output channel is subscribed."""
    while True:
        message_id = client.kernel_info()
        for _ in range(10):
            with suppress(Empty):
                message = await client.get_iopub_msg(timeout=0.1)
                if message.get("parent_header", {}).get("msg_id") == message_id:
                    return


async def _drain_output(running: RunningCommand, output: OutputBuffer) -> None:
    """Read the process's own output, so that it never blocks on a full pipe."""
    stream = running.process.stdout
    while stream is not None and (piece := await stream.read(1 << 16)):
        output.add(piece.decode("utf-8", "replace"))


class _KernelOutput:
    """The kernel's output for one piece of code, within the limits."""

    def __init__(self, limits: CodeLimits) -> None:
        self._max_images = limits.max_images
        self.printed = OutputBuffer(limits.output_chars)
        self.images: list[Image] = []
        self.error = ""

    def add_message(self, message: Any) -> bool:
        """Add one message. Return true if it is the last."""
        content = message.get("content")
        if not isinstance(content, dict):
            return False
        match message.get("msg_type"):
            case "status":
                return content.get("execution_state") == "idle"
            case "stream":
                self.printed.add(_strip_escapes(str(content.get("text", ""))))
            case "display_data" | "execute_result":
                self._add_display(content.get("data"))
            case "error":
                lines = content.get("traceback")
                lines = lines if isinstance(lines, list) else []
                self.error = self.error or _strip_escapes("\n".join(map(str, lines)))[-4000:]
        return False

    def _add_display(self, data: object) -> None:
        if not isinstance(data, dict):
            return
        for kind in _PICTURES:
            if isinstance(data.get(kind), str):
                self._add_picture(data[kind], kind)
                return
        if data.get("text/plain") is not None:
            self.printed.add(f"{_strip_escapes(str(data['text/plain']))}\n")

    def _add_picture(self, text: str, kind: str) -> None:
        if len(self.images) >= self._max_images:
            self.printed.add(f"[more than {self._max_images} pictures: the rest is not shown]\n")
            return
        with suppress(ValueError):
            self.images.append(Image(base64.b64decode(text), kind))


def _strip_escapes(text: str) -> str:
    """Remove the escape codes that color text in a terminal."""
    return _ESCAPES.sub("", text)
