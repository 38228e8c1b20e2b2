"""The connection to Ray, made once and refused if strangers could submit work.

Whoever reaches the control port of a cluster without a token can run code on all its nodes. So a cluster
must require a token, or its port must be unreachable from other machines.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from toolkeel._common.needs_extra import needs_extra
from toolkeel.errors import SetupError, describe_error
from toolkeel.executors.frames import FrameDecoder, Message
from toolkeel_studio.ray import node

with needs_extra("Ray()", "ray"):
    import ray
from ray.exceptions import RayError, RayTaskError, RuntimeEnvSetupError, TaskCancelledError

START_COMMAND = "ray get-auth-token --generate > /dev/null && RAY_AUTH_MODE=token ray start --head"
"""The command that starts a cluster that requires a token."""
Resources = Mapping[str, float]
_NODE_NAMES = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
"""Resources with a task option of Ray's, and their names on nodes."""
_NODE_CACHE_SECONDS = 5.0  # seconds for which a found node is not looked up again
_CANCEL_SECONDS = 0.6  # seconds for a node to end a body, before its worker is killed
_KILL_SECONDS = 10.0  # seconds for Ray to confirm the end
_TOKEN_PROBE = """
import sys
sys.path += sys.argv[2:]  # after Python's own: a model may have written to them
from ray._raylet import GcsClient
from ray.exceptions import AuthenticationError
try:
    GcsClient(address=sys.argv[1]).internal_kv_get(b"toolkeel", b"toolkeel", timeout=5)
except AuthenticationError:
    sys.exit(9)
"""
_TOKEN_REQUIRED = 9
_LOOPBACK = ("127.", "::1")
_STREAM_OPTIONS = {"num_returns": "streaming", "_generator_backpressure_num_objects": 16}
"""Reports arrive at once; the body waits when so many are unread."""
logging.getLogger("ray._private.worker").addFilter(lambda record: "SIGTERM" not in str(record.msg))
"""Drops Ray's notice that it sets no signal handlers, since we connect in a thread."""
_lock = threading.Lock()
_trusted_addresses: set[str] = set()
_found_at: dict[frozenset[tuple[str, float]], float] = {}


class NodeLost(Exception):
    """A node or its worker died, and the call's outcome with it. The message says how."""


def is_ready(resources: Resources) -> bool:
    """Return true if the cluster is connected and a fitting node was found a moment ago."""
    return (
        _is_connected()
        and time.monotonic() - _found_at.get(_node_resources(resources), -_NODE_CACHE_SECONDS)
        < _NODE_CACHE_SECONDS
    )


def connect(address: str | None) -> None:
    """Connect this program to the cluster, unless it is connected.

    Args:
        address: The head's; None for the one on this machine, or of ``RAY_ADDRESS``.

    Raises:
        SetupError: if there is no cluster, or it is open to strangers.
    """
    with _lock:
        if _is_connected():
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        mine = not ray.is_initialized()
        if mine:
            try:
                _check_reachable(address or os.environ.get("RAY_ADDRESS") or "auto")
                ray.init(address or "auto", log_to_driver=False, configure_logging=False)
            except Exception as error:
                raise SetupError(
                    f"Ray() cannot connect to {address or 'a cluster on this machine'}: "
                    f"{describe_error(error).rstrip('.')}. Start one: {START_COMMAND}"
                ) from error
        found = _gcs_address()
        if not (_requires_token(found) or _is_loopback_only(found)):
            if mine:
                ray.shutdown()
            raise SetupError(
                f"the Ray cluster at {found} requires no token: anyone who reaches that port can run "
                f"code on it. Restart it: ray stop; {START_COMMAND}"
            )
        _trusted_addresses.add(found)


def _check_reachable(address: str) -> None:
    """Check that the head answers and takes our token; Ray itself would retry for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), _NODE_CACHE_SECONDS).close()
        ours: Any = ray
        ours._raylet.GcsClient(address=address).internal_kv_get(
            b"toolkeel", b"toolkeel", timeout=_NODE_CACHE_SECONDS
        )


def _is_connected() -> bool:
    return ray.is_initialized() and _gcs_address() in _trusted_addresses


def _gcs_address() -> str:
    return str(ray.get_runtime_context().gcs_address)


def _requires_token(address: str) -> bool:
    """Return true if the head refuses a client without a token, by trying one."""
    env = {**os.environ, "RAY_AUTH_MODE": "disabled"}
    words = [sys.executable, "-I", "-c", _TOKEN_PROBE, address, *map(os.path.abspath, sys.path)]
    done = subprocess.run(words, env=env, capture_output=True, timeout=120, check=False)
    return done.returncode == _TOKEN_REQUIRED


def _is_loopback_only(address: str) -> bool:
    """Return true if the head is on this machine and other machines cannot reach its port."""
    host, _, port = address.rpartition(":")
    if not host.strip("[]").startswith(_LOOPBACK):
        return False
    psutil = import_module("psutil")  # Ray's copy, if it vendors one
    for each in (one for found in psutil.net_if_addrs().values() for one in found):
        if each.family in (socket.AF_INET, socket.AF_INET6) and not each.address.startswith(
            _LOOPBACK
        ):
            with suppress(OSError), socket.create_connection((each.address, int(port)), 2):
                return False
    return True


def make_options(resources: Resources) -> dict[str, Any]:
    """Convert resources to Ray's task options; Ray itself never runs a task twice."""
    own = {name: value for name, value in resources.items() if name in _NODE_NAMES}
    custom = {name: value for name, value in resources.items() if name not in _NODE_NAMES}
    return {**own, "resources": custom, "max_retries": 0}


def has_node_with(resources: Resources) -> bool:
    """Return true if some node, when idle, has these resources."""
    wanted = _node_resources(resources)
    for found in ray.nodes():
        has = found["Resources"] if found["Alive"] else {}
        if has and all(has.get(name, 0) >= number for name, number in wanted):
            _found_at[wanted] = time.monotonic()
            return True
    return False


def _node_resources(resources: Resources) -> frozenset[tuple[str, float]]:
    """Convert resource names to the ones nodes use."""
    return frozenset((_NODE_NAMES.get(name, name), number) for name, number in resources.items())


class SubmittedTask:
    """A request submitted to Ray.

    Args:
        packed: The request; see `toolkeel_studio.ray.node`.
        options: See `make_options`.
        is_streamed: Send the body's reports while it runs. That costs as much again as the request.
    """

    def __init__(self, packed: bytes, options: Mapping[str, Any], is_streamed: bool) -> None:
        self._is_streamed = is_streamed
        self._decoder = FrameDecoder()
        self._ref = (
            _remote_function(is_streamed)
            .options(**options, **(_STREAM_OPTIONS if is_streamed else {}))
            .remote(packed)
        )

    async def next_messages(self) -> list[Message]:
        """Return the body's next reports. The last message of all is its outcome.

        Raises:
            NodeLost: the outcome is unknown.
            SetupError: the node cannot run the request.
        """
        try:
            came: Any = ray.get(await anext(self._ref)) if self._is_streamed else await self._ref
            return list(self._decoder.feed(came))
        except TaskCancelledError as error:  # by another program
            raise NodeLost("was cancelled") from error
        except (RuntimeEnvSetupError, RayTaskError) as error:
            cause = getattr(error, "cause", error)
            raise SetupError(
                f"a Ray node cannot run the request: {describe_error(cause)}"
            ) from error
        except (RayError, StopAsyncIteration) as error:
            raise NodeLost(f"was lost ({type(error).__name__})") from error

    async def stop(self) -> bool:
        """End the body and wait for that. Return true if it may have started."""
        end = self._ref.completed() if self._is_streamed else self._ref
        for force, seconds in ((False, _CANCEL_SECONDS), (True, _KILL_SECONDS)):
            ray.cancel(self._ref, force=force)
            try:
                async with asyncio.timeout(seconds):
                    await end
            except TimeoutError:
                continue
            except RayError as error:  # a started task reports the cancel as its own error
                return isinstance(error, RayTaskError) or not isinstance(error, TaskCancelledError)
            break
        return True


@cache
def _remote_function(streams: bool) -> Any:
    return ray.remote(node.stream_request if streams else node.run_request)
