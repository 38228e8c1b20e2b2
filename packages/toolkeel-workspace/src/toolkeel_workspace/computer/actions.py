"""Actions on a computer, in the forms models write them, and performing them.

A computer is any object with the methods of the small interface (`screenshot`, `mouse_move`,
`mouse_click`, `keyboard_type`) or of the full one (`click`, `double_click`, `scroll`, `type`,
`wait`, `move`, `keypress`, `drag`); each may be sync or async. If an action needs the full interface and
the computer has the small one, the model gets an error.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from toolkeel.errors import SetupError, ToolError

Button = Literal["left", "right", "wheel", "back", "forward"]
WAIT_SECONDS = 1.0
MAX_WAIT_SECONDS = 30.0


@dataclass(frozen=True)
class At:
    """A place on the screen, in pixels from its upper left corner."""

    x: int
    y: int


@dataclass(frozen=True)
class Click:
    """Press a button of the mouse; `keys` are held meanwhile."""

    type: Literal["click"]
    x: int
    y: int
    button: Button = "left"
    keys: list[str] | None = None


@dataclass(frozen=True)
class DoubleClick:
    """Press the left button twice."""

    type: Literal["double_click"]
    x: int
    y: int
    keys: list[str] | None = None


@dataclass(frozen=True)
class Drag:
    """Hold the left button along a path."""

    type: Literal["drag"]
    path: list[At]
    keys: list[str] | None = None


@dataclass(frozen=True)
class Keypress:
    """Press keys together, such as ["CTRL", "A"] or ["ENTER"]."""

    type: Literal["keypress"]
    keys: list[str]


@dataclass(frozen=True)
class Move:
    """Move the pointer."""

    type: Literal["move"]
    x: int
    y: int
    keys: list[str] | None = None


@dataclass(frozen=True)
class Screenshot:
    """Only look."""

    type: Literal["screenshot"]


@dataclass(frozen=True)
class Scroll:
    """Turn the wheel, by pixels; down and right are positive."""

    type: Literal["scroll"]
    x: int
    y: int
    scroll_x: int = 0
    scroll_y: int = 0
    keys: list[str] | None = None


@dataclass(frozen=True)
class Type:
    """Type a text."""

    type: Literal["type"]
    text: str


@dataclass(frozen=True)
class Wait:
    """Let the computer do its work."""

    type: Literal["wait"]
    seconds: float = WAIT_SECONDS


@dataclass(frozen=True)
class Goto:
    """Open an address, in a browser."""

    type: Literal["goto"]
    url: str


Action: TypeAlias = Annotated[
    Click | DoubleClick | Drag | Keypress | Move | Screenshot | Scroll | Type | Wait | Goto,
    Field(discriminator="type"),
]


_FULL_ARGUMENTS: Mapping[str, Callable[[Any], tuple[object, ...]]] = {
    "click": lambda it: (it.x, it.y, it.button),
    "double_click": lambda it: (it.x, it.y),
    "drag": lambda it: ([(at.x, at.y) for at in it.path],),
    "keypress": lambda it: (it.keys,),
    "move": lambda it: (it.x, it.y),
    "scroll": lambda it: (it.x, it.y, it.scroll_x, it.scroll_y),
    "type": lambda it: (it.text,),
}
"""Arguments of the full interface's methods, which are named like the actions."""


class ComputerDriver:
    """Performs actions on a computer, whichever interface it has.

    Sync methods always run in the same thread, because the libraries behind them often require that.

    Args:
        computer: With the methods of the small or the full interface.

    Raises:
        SetupError: it has neither.
    """

    def __init__(self, computer: Any) -> None:
        self._computer = computer
        self._has_full_interface = callable(getattr(computer, "click", None))
        if not self._has_full_interface and not callable(getattr(computer, "mouse_click", None)):
            raise SetupError(
                f"{type(computer).__name__} is no computer: it has neither click() nor "
                "mouse_click(); see docs/computer.md for the two interfaces"
            )
        self._thread = ThreadPoolExecutor(1, "toolkeel-computer")

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the screen, in pixels."""
        computer = self._computer
        if hasattr(computer, "dimensions"):
            width, height = computer.dimensions
            return int(width), int(height)
        return int(computer.display_width_px), int(computer.display_height_px)

    @property
    def environment(self) -> str:
        """The kind of computer; ``browser`` if it does not say."""
        return getattr(self._computer, "environment", None) or "browser"

    @property
    def can_open_urls(self) -> bool:
        """True if it opens addresses."""
        return callable(getattr(self._computer, "goto", None))

    async def take_screenshot(self) -> bytes:
        """Return the screen as the bytes of a picture."""
        screenshot = await self._call_method("screenshot")
        return base64.b64decode(screenshot) if isinstance(screenshot, str) else bytes(screenshot)

    async def perform(self, action: Action) -> None:
        """Perform one action.

        Raises:
            ToolError: the position is not on the screen, or the computer cannot do that.
        """
        self._check_position(action)
        match action:
            case Screenshot():
                return
            case Wait(seconds=seconds):
                await asyncio.sleep(min(max(seconds, 0.0), MAX_WAIT_SECONDS))
            case Goto(url=url):
                if not self.can_open_urls:
                    raise ToolError("This computer opens no addresses by itself: click and type.")
                await self._call_method("goto", url)
            case _:
                await (
                    self._perform_full(action)
                    if self._has_full_interface
                    else self._perform_small(action)
                )

    def close(self) -> None:
        """End the thread of sync methods."""
        self._thread.shutdown(wait=False)

    async def _perform_full(self, action: Action) -> None:
        keys = None if isinstance(action, Keypress) else getattr(action, "keys", None)
        held_keys = {"keys": keys} if keys else {}
        await self._call_method(action.type, *_FULL_ARGUMENTS[action.type](action), **held_keys)

    async def _perform_small(self, action: Action) -> None:
        if getattr(action, "keys", None):
            raise ToolError("This computer cannot press single keys.")
        match action:
            case Click(x=x, y=y, button=button):
                await self._call_method("mouse_move", x, y)
                await self._call_method("mouse_click", button)
            case DoubleClick(x=x, y=y):
                await self._call_method("mouse_move", x, y)
                await self._call_method("mouse_click", "left")
                await self._call_method("mouse_click", "left")
            case Move(x=x, y=y):
                await self._call_method("mouse_move", x, y)
            case Type(text=text):
                await self._call_method("keyboard_type", text)
            case _:
                raise ToolError(f"This computer cannot {action.type}.")

    async def _call_method(self, name: str, *args: object, **held_keys: object) -> Any:
        method: Callable[..., Any] | None = getattr(self._computer, name, None)
        if method is None:
            raise ToolError(f"This computer cannot {name.replace('_', ' ')}.")
        if held_keys and "keys" not in inspect.signature(method).parameters:
            raise ToolError("This computer cannot hold keys meanwhile.")
        if inspect.iscoroutinefunction(method):
            return await method(*args, **held_keys)
        loop = asyncio.get_running_loop()
        value = await loop.run_in_executor(self._thread, lambda: method(*args, **held_keys))
        return await value if inspect.isawaitable(value) else value

    def _check_position(self, action: Action) -> None:
        width, height = self.size
        places: Sequence[Any] = action.path if isinstance(action, Drag) else [action]
        for place in places:
            x, y = getattr(place, "x", 0), getattr(place, "y", 0)
            if not (0 <= x < width and 0 <= y < height):
                raise ToolError(
                    f"({x}, {y}) is not on the screen, which is {width} x {height} pixels; "
                    "coordinates count from 0."
                )


# — the forms of other models —

_CLICKS = {"left_click": "left", "right_click": "right", "middle_click": "wheel"}
_SCROLL_STEP = 100
_DIRECTIONS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


def parse_openai_call(call: Mapping[str, Any]) -> dict[str, object]:
    """Convert OpenAI's ``computer_call`` to arguments: its actions and pending safety checks."""
    checks = call.get("pending_safety_checks") or []
    actions = [{k: v for k, v in dict(one).items() if v is not None} for one in call["actions"]]
    return {"actions": actions, **({"safety_checks": checks} if checks else {})}


def parse_anthropic_call(call: Mapping[str, Any]) -> dict[str, object]:
    """Convert a call of Claude's computer tool to arguments.

    Raises:
        ValueError: for an action without a counterpart.

    >>> parse_anthropic_call({"action": "left_click", "coordinate": [5, 9]})
    {'actions': [{'type': 'click', 'x': 5, 'y': 9, 'button': 'left'}]}
    """
    action = str(call.get("action"))
    at = dict(zip(("x", "y"), call.get("coordinate") or (), strict=False))
    held_keys = {"keys": str(call["text"]).split("+")} if call.get("text") else {}
    if action in _CLICKS:
        return _make_single_action("click", **at, button=_CLICKS[action], **held_keys)
    if action in _KEYBOARD:
        return _KEYBOARD[action](str(call["text"]))
    match action:
        case "mouse_move":
            return _make_single_action("move", **at)
        case "double_click" | "triple_click":
            return _make_single_action("double_click", **at, **held_keys)
        case "left_click_drag":
            path = [call["start_coordinate"], call["coordinate"]]
            return _make_single_action("drag", path=[{"x": x, "y": y} for x, y in path])
        case "scroll":
            right, down = _DIRECTIONS[str(call["scroll_direction"])]
            far = int(call.get("scroll_amount", 3)) * _SCROLL_STEP
            return _make_single_action(
                "scroll", **at, scroll_x=right * far, scroll_y=down * far, **held_keys
            )
        case "wait":
            return _make_single_action("wait", seconds=call.get("duration", WAIT_SECONDS))
        case "screenshot" | "cursor_position" | "zoom":
            return _make_single_action("screenshot")
    raise ValueError(f"no action {action!r}")


_KEYBOARD: Mapping[str, Callable[[str], dict[str, object]]] = {
    "key": lambda text: _make_single_action("keypress", keys=text.split("+")),
    "type": lambda text: _make_single_action("type", text=text),
}


def _make_single_action(type: str, **keys: object) -> dict[str, object]:
    return {"actions": [{"type": type, **keys}]}
