"""What a client may be refused, each with the HTTP status that says so."""

from __future__ import annotations

from typing import ClassVar

from toolkeel.errors import ToolkeelError


class ChannelError(ToolkeelError):
    """A request that a channel refuses; nothing was applied.

    The text is meant for the client: it names no other user's sessions and no internals.
    """

    status: ClassVar[int] = 400


class UnknownSession(ChannelError):
    """There is no such session in the scope; one of another scope gets the same answer."""

    status = 404


class UnknownApproval(ChannelError):
    """An approval id that is not open in the session, or whose ticket has changed since."""

    status = 409


class SessionBusy(ChannelError):
    """A message for a session that answers another one."""

    status = 409


class NoRun(ChannelError):
    """A message after one for which no run can start; its text is the one of `mask_error`."""

    status = 500


class InvalidDecision(ChannelError):
    """A decision that its call does not permit, or arguments and answers that do not fit."""

    status = 422


class Disconnected(ChannelError):
    """The client has left before its response; nobody gets this."""

    status = 499


class Forbidden(ChannelError):
    """A decision or a tool that this client may not bring."""

    status = 403
