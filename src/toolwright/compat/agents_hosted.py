"""What the OpenAI Agents SDK has around its hosted tools; the tools themselves are `builtin`'s.

Of those that are not there yet, giving one to an agent or a toolset says so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from toolwright.define.tool import AnyTool
from toolwright.errors import SetupError
from toolwright.record import record


def _cannot_run(name: str) -> AnyTool:
    raise SetupError(f"{name} is data only: it cannot be run yet, and no provider is sent it")


@record
class RankingOptions:
    """How found passages are ranked."""

    ranker: str | None = None
    score_threshold: float | None = None


@record
class Filters:
    """Which documents are searched."""

    metadata: Mapping[str, Any] | None = None
    file_ids: Sequence[str] | None = None


class Computer(ABC):
    """A computer to look at and act on, as the subclass does it."""

    @property
    @abstractmethod
    def display_width_px(self) -> int:
        """Width of the screen."""

    @property
    @abstractmethod
    def display_height_px(self) -> int:
        """Height of the screen."""

    @abstractmethod
    def screenshot(self) -> Any:
        """The screen as the bytes of a picture; may be async, like the others."""

    @abstractmethod
    def mouse_move(self, x: int, y: int) -> Any:
        """Move the pointer."""

    @abstractmethod
    def mouse_click(self, button: str) -> Any:
        """Press a button of the mouse."""

    @abstractmethod
    def keyboard_type(self, text: str) -> Any:
        """Type a text."""
