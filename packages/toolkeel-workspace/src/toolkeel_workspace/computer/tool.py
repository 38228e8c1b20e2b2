"""A tool that sees a screen and acts on it, for any model that sees pictures.

On OpenAI's Responses API and on Anthropic's API it is their own computer tool, with their forms of
actions; with other models a function with the same actions. Either way it returns a screenshot.
"""

from __future__ import annotations

import asyncio
import functools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import record
from toolkeel.call.body.callback import ask_person
from toolkeel.call.steps.join_approvals import join_approvals
from toolkeel.content import Block, Image, Text, detect_media_type
from toolkeel.context import ToolContext
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool, ApprovalOption, Prepared, Proceed
from toolkeel.effects import Effects
from toolkeel.errors import Denied, SetupError, ToolError
from toolkeel.hosted import Hosted, Native, Where
from toolkeel.messages import ToolMessage, ToolOutput
from toolkeel_workspace.computer.actions import (
    Action,
    ComputerDriver,
    parse_anthropic_call,
    parse_openai_call,
)

SETTLE_SECONDS = 0.2
"""Seconds to let the screen change before a screenshot."""
TIMEOUT = 120.0
SAFETY_CHECKS_KEY = "acknowledged_safety_checks"
"""Key of the accepted safety checks in a result's details."""
_BETAS = {
    "computer_20250124": "computer-use-2025-01-24",
    "computer_20251124": "computer-use-2025-11-24",
}
ClaudeTool = Literal["computer_20250124", "computer_20251124"]


class Computer(ABC):
    """The small interface of a computer. Each method may be sync or async.

    The full one is any object with ``environment``, ``dimensions``, ``screenshot``, ``click``,
    ``double_click``, ``scroll``, ``type``, ``wait``, ``move``, ``keypress`` and ``drag``.
    """

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
        """Return the screen as the bytes of a picture, or their base64 text."""

    @abstractmethod
    def mouse_move(self, x: int, y: int) -> Any:
        """Move the pointer."""

    @abstractmethod
    def mouse_click(self, button: str) -> Any:
        """Press a button of the mouse where the pointer is."""

    @abstractmethod
    def keyboard_type(self, text: str) -> Any:
        """Type a text."""


AsyncComputer: TypeAlias = Computer
"""An alias: methods may be async."""


@record
class SafetyCheck:
    """A provider's warning about what the model is about to do.

    Args:
        id: The provider's.
        code: Its kind, such as ``malicious_instructions``.
        message: For people.
        context: Of the call, with the call itself.
    """

    id: str
    code: str
    message: str
    context: ToolContext


OnSafetyCheck: TypeAlias = Callable[[SafetyCheck], "bool | Awaitable[bool]"]


@checked
class ComputerTool:
    """Uses a computer.

    Args:
        computer: With the small or the full interface.
        on_safety_check: Called with each warning of the provider; anything but True refuses the
            call. Without it a call with warnings needs approval like any other.
        approval: Which calls need approval; those with warnings always do.
        where: ``auto``: the provider's own computer tool where it has one; ``local``: always a
            function.
        preview: Send OpenAI the form of the model ``computer-use-preview``.
        claude: Version of Anthropic's computer tool; each works with some generations of Claude.

    Raises:
        SetupError: `computer` has neither interface.
    """

    def __init__(
        self,
        computer: Any,
        *,
        on_safety_check: OnSafetyCheck | None = None,
        approval: ApprovalOption = False,
        where: Where = "auto",
        preview: bool = False,
        claude: ClaudeTool = "computer_20250124",
    ) -> None:
        if claude not in _BETAS:
            raise SetupError(f"ComputerTool(claude={claude!r}): there are {', '.join(_BETAS)}")
        self.computer = computer
        self.on_safety_check = on_safety_check
        self.where: Where = where
        self._driver = ComputerDriver(computer)
        self._approval = approval
        self._preview = preview
        self._claude = claude
        self._lock = asyncio.Lock()

    def __repr__(self) -> str:
        return f"ComputerTool({type(self.computer).__name__})"

    @functools.cached_property
    def tool(self) -> AnyTool:
        """The tool, and its hosted counterparts of providers with a computer tool."""
        width, height = self._driver.size
        where = f"a {self._driver.environment} with a screen of {width} x {height} pixels"
        goto_hint = " goto opens an address." if self._driver.can_open_urls else ""
        return tool(
            "computer",
            description=f"Use {where}. Gives a screenshot after the last action.{goto_hint}",
            # A screen shows strangers' text; acting on the same screen afterwards needs no approval.
            effects=Effects(stranger=True, safe_after=("stranger",)),
            timeout=TIMEOUT,
            sequential=True,
            approval=join_approvals(self._approval, self._has_unseen_checks) or False,
            steps=[self._check_safety],
            hosted=Hosted(self._make_natives(width, height), self.where),
        )(self._run_actions)

    async def _run_actions(
        self,
        actions: list[Action],
        context: ToolContext,
        safety_checks: list[dict[str, str | None]] | None = None,
    ) -> ToolOutput | ToolMessage:
        """Use the computer.

        Args:
            actions: What to do, in order.
            safety_checks: Filled in by some providers; leave it out.
        """
        checks = safety_checks or []
        done, problem = 0, ""
        async with self._lock:
            for action in actions:
                try:
                    with context.working_remotely():
                        await self._driver.perform(action)
                except ToolError as error:
                    problem = error.text
                    break
                done += 1
            await asyncio.sleep(SETTLE_SECONDS)
            picture = await self._driver.take_screenshot()
        content: tuple[Block, ...] = (Image(picture, detect_media_type(picture)),)
        details: dict[str, object] = {
            "actions": done,
            **({SAFETY_CHECKS_KEY: checks} if checks else {}),
        }
        if problem:  # with a picture: providers show nothing else of a computer's result
            text = f"{done} of {len(actions)} actions were done. {problem}"
            content = (Text(text), *content)
            call = context.call
            return ToolMessage(
                content, call.id, context.tool_name, "error", "tool_error", details=details
            )
        return ToolOutput(content, details=details)

    async def _check_safety(
        self, prepared: Prepared, context: ToolContext, proceed: Proceed
    ) -> object:
        """Pass the provider's warnings to the callback.

        Raises:
            Denied: one was not accepted.
        """
        ask = self.on_safety_check
        checks = prepared.arguments.get("safety_checks") or ()
        for one in (
            checks if ask is not None else ()
        ):  # otherwise the call is approved together with them
            id, code, message = (one.get(key) or "" for key in ("id", "code", "message"))
            check = SafetyCheck(id, code, message, context)
            if ask is None or await ask_person(ask, check, name="on_safety_check=") is not True:
                raise Denied(
                    f"The call of {context.tool_name!r} was not approved: {message or code}"
                )
        return await proceed(prepared)

    def _has_unseen_checks(self, arguments: Mapping[str, object]) -> bool:
        """Return True if a call has safety checks that nobody else is asked about."""
        return self.on_safety_check is None and bool(arguments.get("safety_checks"))

    def _make_natives(self, width: int, height: int) -> dict[Any, Native]:
        openai: dict[str, Any] = {"type": "computer"}
        if self._preview:
            size = {"display_width": width, "display_height": height}
            kind = self._driver.environment
            openai = {"type": "computer_use_preview", "environment": kind, **size}
        claude = {"type": self._claude, "name": "computer"}
        screen = {"display_width_px": width, "display_height_px": height}
        return {
            "openai-responses": Native(openai, to_tool_arguments=parse_openai_call, runs_here=True),
            "anthropic": Native(
                {**claude, **screen},
                betas=(_BETAS[self._claude],),
                to_tool_arguments=parse_anthropic_call,
                runs_here=True,
            ),
        }
