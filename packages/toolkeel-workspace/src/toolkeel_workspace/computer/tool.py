"""A tool that looks at a screen and acts on it, for any model that sees pictures.

On OpenAI's Responses API and on Anthropic's it is their own computer tool, with their own forms of
actions; everywhere else a function of the same actions. Either way it gives a screenshot back.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import record
from toolkeel.content import Block, Image, Text, sniff
from toolkeel.context import ToolContext
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool, Needs, Prepared, Proceed
from toolkeel.effects import Effects
from toolkeel.errors import Denied, SetupError, ToolError
from toolkeel.hosted import Hosted, Native, Where
from toolkeel.messages import ToolMessage, ToolOutput
from toolkeel_workspace.computer.actions import Action, Hands, from_anthropic, from_openai

SETTLE = 0.2
"""Seconds that a screen is given to change before it is looked at."""
TIMEOUT = 120.0
CHECKS = "acknowledged_safety_checks"
"""Under which key of a result's details the safety checks stand that were accepted."""
_BETAS = {
    "computer_20250124": "computer-use-2025-01-24",
    "computer_20251124": "computer-use-2025-11-24",
}
ClaudeTool = Literal["computer_20250124", "computer_20251124"]


class Computer(ABC):
    """The small interface of a computer; each method may be sync or async.

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
        """The screen as the bytes of a picture, or their base64 text."""

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
"""The same: methods may be async."""


@record
class SafetyCheck:
    """A warning of the provider's about what the model is about to do.

    Args:
        id: The provider's.
        code: Its kind, such as ``malicious_instructions``.
        message: For people.
        context: Of the call, which has the call itself.
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
        computer: What is used: of the small or the full interface.
        on_safety_check: Asked about each warning of the provider's; anything but True refuses the
            call. Without it a call with warnings needs approval like any other.
        approval: Which calls need a person's approval; those with warnings always do.
        where: ``auto``: the provider's own computer tool where it has one; ``local``: always a
            function.
        preview: Whether OpenAI is sent the form of the model ``computer-use-preview``.
        claude: Which of Anthropic's computer tools; each belongs to some generations of Claude.

    Raises:
        SetupError: `computer` is none.
    """

    def __init__(
        self,
        computer: Any,
        *,
        on_safety_check: OnSafetyCheck | None = None,
        approval: Needs = False,
        where: Where = "auto",
        preview: bool = False,
        claude: ClaudeTool = "computer_20250124",
    ) -> None:
        if claude not in _BETAS:
            raise SetupError(f"ComputerTool(claude={claude!r}): there are {', '.join(_BETAS)}")
        self.computer = computer
        self.on_safety_check = on_safety_check
        self.where: Where = where
        self._hands = Hands(computer)
        self._approval = approval
        self._preview = preview
        self._claude = claude
        self._lock = asyncio.Lock()

    def __repr__(self) -> str:
        return f"ComputerTool({type(self.computer).__name__})"

    @functools.cached_property
    def tool(self) -> AnyTool:
        """What runs, and what stands for it on providers that have a computer tool."""
        width, height = self._hands.size
        where = f"a {self._hands.environment} with a screen of {width} x {height} pixels"
        going = " goto opens an address." if self._hands.can_go else ""
        return tool(
            "computer",
            description=f"Use {where}. Gives a screenshot after the last action.{going}",
            # What it shows is strangers' text; what it does there is where it may be, and no more.
            effects=Effects(stranger=True, safe_after=("stranger",)),
            timeout=TIMEOUT,
            sequential=True,
            approval=self._needs,
            steps=[self._checked],
            hosted=Hosted(self._natives(width, height), self.where),
        )(self._run)

    async def _run(
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
                        await self._hands.act(action)
                except ToolError as error:
                    problem = error.text
                    break
                done += 1
            await asyncio.sleep(SETTLE)
            picture = await self._hands.look()
        content: tuple[Block, ...] = (Image(picture, sniff(picture)),)
        details: dict[str, object] = {"actions": done, **({CHECKS: checks} if checks else {})}
        if problem:  # with a picture all the same: providers show nothing else
            text = f"{done} of {len(actions)} actions were done. {problem}"
            content = (Text(text), *content)
            call = context.call
            return ToolMessage(
                content, call.id, context.tool_name, "error", "tool_error", details=details
            )
        return ToolOutput(content, details=details)

    async def _checked(self, prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        """Ask about the provider's warnings.

        Raises:
            Denied: one was not accepted.
        """
        ask = self.on_safety_check
        checks = prepared.arguments.get("safety_checks") or ()
        for one in checks if ask is not None else ():  # else the call is approved with them
            id, code, message = (one.get(key) or "" for key in ("id", "code", "message"))
            answer = ask(SafetyCheck(id, code, message, context)) if ask is not None else False
            if (await answer if inspect.isawaitable(answer) else answer) is not True:
                raise Denied(
                    f"The call of {context.tool_name!r} was not approved: {message or code}"
                )
        return await proceed(prepared)

    def _needs(self, arguments: Mapping[str, object]) -> bool | str | Awaitable[bool | str]:
        """Whether a person must approve a call."""
        if self.on_safety_check is None and arguments.get("safety_checks"):
            return True
        return self._approval(arguments) if callable(self._approval) else self._approval

    def _natives(self, width: int, height: int) -> dict[Any, Native]:
        openai: dict[str, Any] = {"type": "computer"}
        if self._preview:
            size = {"display_width": width, "display_height": height}
            kind = self._hands.environment
            openai = {"type": "computer_use_preview", "environment": kind, **size}
        claude = {"type": self._claude, "name": "computer"}
        screen = {"display_width_px": width, "display_height_px": height}
        return {
            "openai-responses": Native(openai, inward=from_openai, here=True),
            "anthropic": Native(
                {**claude, **screen},
                betas=(_BETAS[self._claude],),
                inward=from_anthropic,
                here=True,
            ),
        }
