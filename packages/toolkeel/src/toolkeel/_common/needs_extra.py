"""Imports that an extra of this package brings: where they fail, its install line is reported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from toolkeel.errors import MissingExtraError


@contextmanager
def needs_extra(what: str, extra: str) -> Iterator[None]:
    """Turn a failing import of an optional package in the block into an error with its install command.

    A failing import of this library's own modules is raised as it is.

    Args:
        what: The feature that needs them, as the sentence's subject.
        extra: Name of the extra that brings them.

    Raises:
        MissingExtraError: a package is not installed.
    """
    try:
        yield
    except ImportError as error:
        if (
            (error.name or "").partition(".")[0].startswith("toolkeel")
        ):  # ours is broken, nothing is missing
            raise
        raise MissingExtraError(what, extra) from error
