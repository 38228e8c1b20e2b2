"""Exceptions of the core become those that programs catch."""

from __future__ import annotations

from toolkeel.errors import ModelError, OutputError
from toolkeel_compat.pydantic_ai.exceptions import (
    ApprovalRequired,
    ModelHTTPError,
    ModelRetry,
    UnexpectedModelBehavior,
    to_run_error,
)


def test_an_error_of_a_run_is_the_one_that_programs_catch() -> None:
    assert isinstance(to_run_error(OutputError("no answer"), "m", 1), UnexpectedModelBehavior)
    refused = to_run_error(ModelError("busy", status=429), "m", 1)
    assert isinstance(refused, ModelHTTPError) and refused.status_code == 429
    other = ValueError("x")
    assert to_run_error(other, "m", 1) is other


def test_a_retry_has_its_message() -> None:
    assert ModelRetry("again").message == "again"


def test_an_approval_has_its_metadata() -> None:
    assert ApprovalRequired(metadata={"a": 1}).metadata == {"a": 1}
