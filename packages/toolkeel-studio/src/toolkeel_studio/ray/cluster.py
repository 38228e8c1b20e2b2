"""The connection to Ray: made once, refused where strangers could give orders too.

Whoever reaches the control port of a cluster without a token runs what they like on all its nodes. So
a cluster must ask for one, or no other machine may reach it.
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
from toolkeel.errors import SetupError, describe
from toolkeel.executors.frames import Frames, Message
from toolkeel_studio.ray import node

with needs_extra("Ray()", "ray"):
    import ray
from ray.exceptions import RayError, RayTaskError, RuntimeEnvSetupError, TaskCancelledError

START = "ray get-auth-token --generate > /dev/null && RAY_AUTH_MODE=token ray start --head"
"""The command that starts a cluster which asks for a token."""
Resources = Mapping[str, float]
_OWN = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
"""What Ray has an option for, and what its nodes call it."""
_KNOWN = 5.0  # seconds for which it is believed that a node has what was asked for
_POLITE = 0.6  # seconds for a node to end a body, before its worker is killed
_PATIENCE = 10.0  # seconds for Ray to say that it is gone
_ASK = """
import sys
sys.path += sys.argv[2:]  # behind Python's own: they may hold what a model has written
from ray._raylet import GcsClient
from ray.exceptions import AuthenticationError
try:
    GcsClient(address=sys.argv[1]).internal_kv_get(b"toolkeel", b"toolkeel", timeout=5)
except AuthenticationError:
    sys.exit(9)
"""
_ASKS_FOR_ONE = 9
_LOOPBACK = ("127.", "::1")
_STREAM = {"num_returns": "streaming", "_generator_backpressure_num_objects": 16}
"""What a body reports comes at once; when so many pieces wait for us, it waits."""
logging.getLogger("ray._private.worker").addFilter(lambda said: "SIGTERM" not in str(said.msg))
"""It would say that it sets no handler of signals, as we connect in a thread."""
_lock = threading.Lock()
_trusted: set[str] = set()
_seen: dict[frozenset[tuple[str, float]], float] = {}


class Lost(Exception):
    """A node, or its worker, is gone, and with it what it did for a call; says what became of it."""


def ready(needs: Resources) -> bool:
    """Whether `connect` and `is_there` need not be asked, since they have just been."""
    return _connected() and time.monotonic() - _seen.get(_as_nodes_name(needs), -_KNOWN) < _KNOWN


def connect(address: str | None) -> None:
    """Connect this program, unless it is connected.

    Args:
        address: Of the cluster's head; None for the one on this machine, or of ``RAY_ADDRESS``.

    Raises:
        SetupError: there is none, or it is open to strangers.
    """
    with _lock:
        if _connected():
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        mine = not ray.is_initialized()
        if mine:
            try:
                _knock(address or os.environ.get("RAY_ADDRESS") or "auto")
                ray.init(address or "auto", log_to_driver=False, configure_logging=False)
            except Exception as error:
                raise SetupError(
                    f"Ray() cannot connect to {address or 'a cluster on this machine'}: "
                    f"{describe(error).rstrip('.')}. Start one: {START}"
                ) from error
        found = _gcs()
        if not (_asks_for_token(found) or _only_here(found)):
            if mine:
                ray.shutdown()
            raise SetupError(
                f"the Ray cluster at {found} asks nobody for a token: whoever reaches that port runs "
                f"what they like on it. Start it anew: ray stop; {START}"
            )
        _trusted.add(found)


def _knock(address: str) -> None:
    """See that somebody answers there, and takes our token: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), _KNOWN).close()
        ours: Any = ray
        ours._raylet.GcsClient(address=address).internal_kv_get(
            b"toolkeel", b"toolkeel", timeout=_KNOWN
        )


def _connected() -> bool:
    return ray.is_initialized() and _gcs() in _trusted


def _gcs() -> str:
    return str(ray.get_runtime_context().gcs_address)


def _asks_for_token(address: str) -> bool:
    """Whether the head refuses who has none; tried for real, as somebody who has none."""
    env = {**os.environ, "RAY_AUTH_MODE": "disabled"}
    words = [sys.executable, "-I", "-c", _ASK, address, *map(os.path.abspath, sys.path)]
    done = subprocess.run(words, env=env, capture_output=True, timeout=120, check=False)
    return done.returncode == _ASKS_FOR_ONE


def _only_here(address: str) -> bool:
    """Whether the head is on this machine, and no other machine reaches its port."""
    host, _, port = address.rpartition(":")
    if not host.strip("[]").startswith(_LOOPBACK):
        return False
    psutil = import_module("psutil")  # Ray's own, by whatever name it has it
    for each in (one for found in psutil.net_if_addrs().values() for one in found):
        if each.family in (socket.AF_INET, socket.AF_INET6) and not each.address.startswith(
            _LOOPBACK
        ):
            with suppress(OSError), socket.create_connection((each.address, int(port)), 2):
                return False
    return True


def options_of(needs: Resources) -> dict[str, Any]:
    """What a body needs, as Ray takes it; Ray itself never runs anything twice."""
    own = {name: value for name, value in needs.items() if name in _OWN}
    custom = {name: value for name, value in needs.items() if name not in _OWN}
    return {**own, "resources": custom, "max_retries": 0}


def is_there(needs: Resources) -> bool:
    """Whether some node has, when it is idle, what a body needs."""
    wanted = _as_nodes_name(needs)
    for found in ray.nodes():
        has = found["Resources"] if found["Alive"] else {}
        if has and all(has.get(name, 0) >= number for name, number in wanted):
            _seen[wanted] = time.monotonic()
            return True
    return False


def _as_nodes_name(needs: Resources) -> frozenset[tuple[str, float]]:
    """What nodes call it."""
    return frozenset((_OWN.get(name, name), number) for name, number in needs.items())


class Sent:
    """An order that Ray has been given.

    Args:
        packed: The order; see `toolkeel_studio.ray.node`.
        options: See `options_of`.
        streams: Whether what the body reports shall be told while it runs. That costs as much again
            as the order itself.
    """

    def __init__(self, packed: bytes, options: Mapping[str, Any], streams: bool) -> None:
        self._streams = streams
        self._frames = Frames()
        self._sent = (
            _remote(streams).options(**options, **(_STREAM if streams else {})).remote(packed)
        )

    async def next_messages(self) -> list[Message]:
        """What the body has reported next; its answer is the last of all.

        Raises:
            Lost: nobody knows what became of it.
            SetupError: the node cannot do what it was asked.
        """
        try:
            came: Any = ray.get(await anext(self._sent)) if self._streams else await self._sent
            return list(self._frames.feed(came))
        except TaskCancelledError as error:  # by somebody else
            raise Lost("was cancelled") from error
        except (RuntimeEnvSetupError, RayTaskError) as error:
            cause = getattr(error, "cause", error)
            raise SetupError(
                f"a node of Ray's cannot carry out an order: {describe(cause)}"
            ) from error
        except (RayError, StopAsyncIteration) as error:
            raise Lost(f"was lost ({type(error).__name__})") from error

    async def stop(self) -> bool:
        """Have the body ended, and wait for that; whether it may have begun."""
        end = self._sent.completed() if self._streams else self._sent
        for force, seconds in ((False, _POLITE), (True, _PATIENCE)):
            ray.cancel(self._sent, force=force)
            try:
                async with asyncio.timeout(seconds):
                    await end
            except TimeoutError:
                continue
            except RayError as error:  # what had begun tells of it as an error of its own
                return isinstance(error, RayTaskError) or not isinstance(error, TaskCancelledError)
            break
        return True


@cache
def _remote(streams: bool) -> Any:
    return ray.remote(node.serve if streams else node.serve_at_once)
