"""Errors of requests with invalid parameters: they name the parameter, where the SDK names none."""

from __future__ import annotations

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from toolkeel.mcp.messages import unreadable_reason
from toolkeel.mcp.server.multi_round_calls import Request

_OF_THE_SDK = "Invalid request parameters"


async def name_invalid_params(ctx: Request, call_next: CallNext) -> HandlerResult:
    """Handle a request; an error about its parameters says which one is wrong (middleware).

    Raises:
        MCPError: the parameters are invalid, or the handler refused.
    """
    try:
        return await call_next(ctx)
    except ValidationError as error:
        message = f"{_OF_THE_SDK}: {unreadable_reason(error)}"
        raise MCPError(types.INVALID_PARAMS, message) from error
    except MCPError as error:
        if (error.code, error.message) != (types.INVALID_PARAMS, _OF_THE_SDK):
            raise
        message = f"{ctx.method} needs a connection that began with initialize"
        raise MCPError(types.INVALID_PARAMS, message) from error
