"""Shared parts of models on HTTP clients: options, one client per event loop, reading errors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Generic, Protocol, TypedDict, TypeVar
from weakref import WeakKeyDictionary, finalize

from toolkeel._common.checked_arguments import check_values, kind_of
from toolkeel.agent.transcript_media import MEDIA_LIMIT
from toolkeel.errors import ModelError, SetupError, describe_error
from toolkeel.providers.wire.body_cache import MediaPolicy
from toolkeel.providers.wire.plain_json import clean_text


class Closable(Protocol):
    """A client that can be closed."""

    def close(self) -> Awaitable[None]:
        """Close the client."""
        ...


class CommonOptions(TypedDict, total=False):
    """Options of every model for its server.

    Attributes:
        timeout: Seconds to wait for the answer, or for its next bytes; None or absent: the SDK's
            default, usually ten minutes.
        max_retries: Times a failed request is sent again; 2 by default.
        media: False if the model takes no pictures, sounds and files, so notes replace them; True
            by default.
        media_limit: Most bytes of media in a request, as base64; notes replace the oldest. None: any
            number; 18 million by default.
    """

    timeout: float | None
    max_retries: int
    media: bool
    media_limit: int | None


def media_policy(options: CommonOptions) -> MediaPolicy:
    """Build the media rules from a model's options."""
    return MediaPolicy(options.get("media", True), options.get("media_limit", MEDIA_LIMIT))


C = TypeVar("C", bound=Closable)


class ClientPerLoop(Generic[C]):
    """One client for each event loop, since a client's connections belong to one loop.

    The first one is made at once, so that wrong options show. When this object is collected, its clients
    are closed, each on its own loop while that runs.

    Args:
        make: Makes a client. It must not reference the owner of this object, or nothing is closed in time.
        passed: A client of the program's own: used on every loop, and never closed.
    """

    def __init__(self, make: Callable[[], C], passed: C | None = None) -> None:
        self._make = make
        self.program_client = passed
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, C] = WeakKeyDictionary()
        finalize(self, _close_clients, self._clients).atexit = False
        self.first: C = passed or make()
        """The one that is made at once, so that what is wrong with its options shows."""
        self._unused: C | None = self.first

    def get(self) -> C:
        """Return the program's own client, or the running loop's, made and stored at first use."""
        if self.program_client is not None:
            return self.program_client
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = self._unused or self._make()
            self._unused = None
        return client

    async def close(self) -> None:
        """Close the running loop's client; the program's own one stays open."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()


def _close_clients(clients: Mapping[asyncio.AbstractEventLoop, Closable]) -> None:
    """Schedule closing each client on its own loop, if that still runs."""
    for loop, client in list(clients.items()):
        with suppress(RuntimeError):  # the loop has closed meanwhile
            if loop.is_running():
                loop.call_soon_threadsafe(_close_soon, client)


def _close_soon(client: Closable) -> None:
    """Start a task on the running loop that closes a client."""
    task = asyncio.ensure_future(client.close())
    _closing.add(task)
    task.add_done_callback(_closing.discard)


_closing: set[asyncio.Future[None]] = set()


def check_options(model: str, passed: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Reject unknown options and values of a wrong type.

    Args:
        model: Class of the model, for errors.
        passed: The options.
        known: Annotations of the known options.

    Raises:
        SetupError: naming the wrong options and the known ones.
    """
    if unknown := set(passed) - {*known}:
        raise SetupError(
            f"{model}: no option {', '.join(sorted(unknown))}; there are {', '.join(known)}"
        )
    check_values(model, passed, {name: kind_of(known[name], {}) for name in passed})


@contextmanager
def reading_answer(model: str) -> Iterator[None]:
    """Raise any exception in the block, while an answer is read, as `ModelError`.

    SDKs expect what their servers send. An unknown charset, a number of five thousand digits, an
    error that is a list: each raises another of Python's exceptions.

    Args:
        model: Name of the model.

    Raises:
        ModelError: in place of any exception but `SetupError`.
    """
    try:
        yield
    except (ModelError, SetupError):
        raise
    except Exception as error:
        why = f"{model}: the server's answer cannot be read ({clean_text(describe_error(error))[:500]})"
        raise ModelError(why) from error
