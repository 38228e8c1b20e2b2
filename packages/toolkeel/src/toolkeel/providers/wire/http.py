"""What models on HTTP clients share: a client for each event loop, and how long to wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Generic, Protocol, TypedDict, TypeVar
from weakref import WeakKeyDictionary, finalize

from toolkeel._common.checked_arguments import check_values, kind_of
from toolkeel.agent.transcript_media import MEDIA_LIMIT
from toolkeel.errors import ModelError, SetupError, describe
from toolkeel.providers.wire.body_cache import Media
from toolkeel.providers.wire.plain_json import clean_text


class Closing(Protocol):
    """A client that can be closed."""

    def close(self) -> Awaitable[None]: ...


class CommonOptions(TypedDict, total=False):
    """How every model deals with its server.

    Attributes:
        timeout: Seconds to wait for the answer, or for its next bytes; None or nothing: as long
            as the vendor's SDK does, ten minutes as a rule.
        max_retries: How often a failed request is sent again; 2 if nothing is said.
        media: Whether the model takes pictures, sounds and files; False: it is told of them. True
            if nothing is said.
        media_limit: Most bytes of media in a request, as base64, the oldest being told instead of
            shown; None: any number; 18 million if nothing is said.
    """

    timeout: float | None
    max_retries: int
    media: bool
    media_limit: int | None


def media_of(options: CommonOptions) -> Media:
    """What the options say of media."""
    return Media(options.get("media", True), options.get("media_limit", MEDIA_LIMIT))


C = TypeVar("C", bound=Closing)


class PerLoop(Generic[C]):
    """A client for each event loop, since a client's connections live on one.

    When it is gone its clients are closed, each on its own loop while that runs.

    Args:
        make: Makes a client. It must not hold what holds this, or nothing is closed in time.
        given: A client of the program's own: used on every loop, and never closed.
    """

    def __init__(self, make: Callable[[], C], given: C | None = None) -> None:
        self._make = make
        self.given = given
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, C] = WeakKeyDictionary()
        finalize(self, _hang_up, self._clients).atexit = False
        self.first: C = given or make()
        """The one that is made at once, so that what is wrong with its options shows."""
        self._fresh: C | None = self.first

    def get(self) -> C:
        """The running loop's client."""
        if self.given is not None:
            return self.given
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = self._fresh or self._make()
            self._fresh = None
        return client

    async def close(self) -> None:
        """Close the running loop's client."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()


def _hang_up(clients: Mapping[asyncio.AbstractEventLoop, Closing]) -> None:
    for loop, client in list(clients.items()):
        with suppress(RuntimeError):  # the loop has closed meanwhile
            if loop.is_running():
                loop.call_soon_threadsafe(_close_soon, client)


def _close_soon(client: Closing) -> None:
    task = asyncio.ensure_future(client.close())
    _closing.add(task)
    task.add_done_callback(_closing.discard)


_closing: set[asyncio.Future[None]] = set()


def check_options(model: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Refuse options that do not exist, and values that are none.

    Args:
        model: Its class, for errors.
        given: The options.
        known: Annotations of those there are.

    Raises:
        SetupError: naming them and those there are.
    """
    if unknown := set(given) - {*known}:
        raise SetupError(
            f"{model}: no option {', '.join(sorted(unknown))}; there are {', '.join(known)}"
        )
    check_values(model, given, {name: kind_of(known[name], {}) for name in given})


@contextmanager
def unreadable(model: str) -> Iterator[None]:
    """Turn whatever an SDK stumbles over in an answer into `ModelError`.

    SDKs expect what their servers send. A charset that no body has, a number of five thousand
    digits, an error that is a list: each ends in another exception of Python's own.

    Args:
        model: Its name.
    """
    try:
        yield
    except (ModelError, SetupError):
        raise
    except Exception as error:
        why = f"{model}: the server's answer cannot be read ({clean_text(describe(error))[:500]})"
        raise ModelError(why) from error
