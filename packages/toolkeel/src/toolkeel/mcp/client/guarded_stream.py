"""Incoming messages of a connection: rate-limited, repaired, and with an event at their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.shared.message import SessionMessage

from toolkeel.mcp.client.frames import RateLimiter
from toolkeel.mcp.client.mend_responses import ResponseRepair, mark_peer_error


class GuardedStream:
    """A transport's incoming messages, rate-limited and repaired.

    Args:
        inner: The transport's stream.
        rate: Limits the messages that are no responses.
        ended: Called when the stream ends or fails.
        sift: Repairs responses, in place.
    """

    def __init__(
        self, inner: Any, rate: RateLimiter, ended: Callable[[], object], sift: ResponseRepair
    ) -> None:
        self._inner = inner
        self._rate = rate
        self._ended = ended
        self._sift = sift

    @property
    def last_context(self) -> Any:
        """The context variables of the sender; None if the transport does not provide them."""
        return getattr(self._inner, "last_context", None)

    def __aiter__(self) -> GuardedStream:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            while True:
                item: SessionMessage | Exception = await self._inner.__anext__()
                if self._rate.allows(item):
                    return self._sifted(item)
        except BaseException:
            self._ended()
            raise

    def _sifted(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        """Return a message with its response repaired, or its error marked as the peer's."""
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, types.JSONRPCResponse):
            self._sift.repair(message.result)
        elif isinstance(message, types.JSONRPCError):
            message.error = mark_peer_error(message.error)
        return item

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message that is within the rate, repaired; if there is none, call `ended` and raise."""
        return await self.__anext__()

    def close(self) -> None:
        """Close the inner stream."""
        self._inner.close()

    async def aclose(self) -> None:
        """Close the inner stream."""
        await self._inner.aclose()

    async def __aenter__(self) -> GuardedStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
