"""Exceptions of tools, and exceptions that end a run, under the names of Pydantic AI."""

from __future__ import annotations

from typing import Any

from toolkeel.errors import ModelError, OutputError, SetupError, ToolError

UserError = SetupError
"""The program is wired up wrongly."""


class ModelRetry(ToolError):
    """Tells the model what to correct; raised by a tool or an output validator."""

    @property
    def message(self) -> str:
        """The text for the model."""
        return self.text


class ApprovalRequired(Exception):
    """Raised by a tool: this call waits for a person.

    Args:
        metadata: For the program: `DeferredToolRequests.metadata` has it by the call's id.
    """

    def __init__(self, metadata: dict[str, Any] | None = None) -> None:
        super().__init__("approval is required")
        self.metadata = metadata


class AgentRunError(RuntimeError):
    """A run has no result.

    Args:
        message: What happened.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class UnexpectedModelBehavior(AgentRunError):
    """The model gave no answer of the output type."""


class UsageLimitExceeded(AgentRunError):
    """A limit of `UsageLimits` is reached."""


class ModelHTTPError(AgentRunError):
    """The model's server answered with an error.

    Args:
        status_code: The HTTP status.
        model_name: Name of the model.
        message: What happened.
    """

    def __init__(self, status_code: int, model_name: str, message: str) -> None:
        super().__init__(message)
        self.status_code, self.model_name = status_code, model_name


def make_retries_error(retries: int) -> UnexpectedModelBehavior:
    """Return the exception for a model that may not correct its answer once more."""
    return UnexpectedModelBehavior(f"Exceeded maximum output retries ({retries})")


def to_run_error(error: Exception, model_name: str, retries: int) -> Exception:
    """Return the exception of Pydantic AI for one of the core that ended a run.

    Args:
        error: The core's exception; another one is returned as it is.
        model_name: Name of the model.
        retries: How often the model may correct its answer.
    """
    if isinstance(error, OutputError):
        is_wrong = error.text and error.attempts
        return make_retries_error(retries) if is_wrong else UnexpectedModelBehavior(str(error))
    status = error.status if isinstance(error, ModelError) else None
    return error if status is None else ModelHTTPError(status, model_name, str(error))
