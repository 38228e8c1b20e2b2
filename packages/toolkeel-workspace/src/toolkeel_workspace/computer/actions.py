"""What can be done to a computer: actions as models of all kinds say them, and doing them.

A computer is any object with the methods of the small interface (`screenshot`, `mouse_move`,
`mouse_click`, `keyboard_type`) or of the full one (`click`, `double_click`, `scroll`, `type`,
`wait`, `move`, `keypress`, `drag`); each may be sync or async. What the full one would be needed
for, and the small one cannot do, is told to the model.
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
WAIT = 1.0
MAX_WAIT = 30.0


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
    seconds: float = WAIT


@dataclass(frozen=True)
class Goto:
    """Open an address, in a browser."""

    type: Literal["goto"]
    url: str


Action: TypeAlias = Annotated[
    Click | DoubleClick | Drag | Keypress | Move | Screenshot | Scroll | Type | Wait | Goto,
    Field(discriminator="type"),
]


_FULL: Mapping[str, Callable[[Any], tuple[object, ...]]] = {
    "click": lambda it: (it.x, it.y, it.button),
    "double_click": lambda it: (it.x, it.y),
    "drag": lambda it: ([(at.x, at.y) for at in it.path],),
    "keypress": lambda it: (it.keys,),
    "move": lambda it: (it.x, it.y),
    "scroll": lambda it: (it.x, it.y, it.scroll_x, it.scroll_y),
    "type": lambda it: (it.text,),
}
"""What the method of the full interface that an action is named after takes."""


class Hands:
    """Does actions on a computer, whichever interface it has.

    Sync methods run in one thread of their own, always the same, since the libraries behind them
    often want that.

    Args:
        computer: With the methods of the small or the full interface.

    Raises:
        SetupError: it has neither.
    """

    def __init__(self, computer: Any) -> None:
        self._computer = computer
        self._full = callable(getattr(computer, "click", None))
        if not self._full and not callable(getattr(computer, "mouse_click", None)):
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
        """What kind of computer it is; ``browser`` if it does not say."""
        return getattr(self._computer, "environment", None) or "browser"

    @property
    def can_go(self) -> bool:
        """Whether it opens addresses."""
        return callable(getattr(self._computer, "goto", None))

    async def look(self) -> bytes:
        """The screen as a picture's bytes."""
        seen = await self._call_method("screenshot")
        return base64.b64decode(seen) if isinstance(seen, str) else bytes(seen)

    async def act(self, action: Action) -> None:
        """Do one action.

        Raises:
            ToolError: the place is not on the screen, or the computer cannot do that.
        """
        self._check(action)
        match action:
            case Screenshot():
                return
            case Wait(seconds=seconds):
                await asyncio.sleep(min(max(seconds, 0.0), MAX_WAIT))
            case Goto(url=url):
                if not self.can_go:
                    raise ToolError("This computer opens no addresses by itself: click and type.")
                await self._call_method("goto", url)
            case _:
                await (self._act_full(action) if self._full else self._act_small(action))

    def close(self) -> None:
        """End the thread of sync methods."""
        self._thread.shutdown(wait=False)

    async def _act_full(self, action: Action) -> None:
        keys = None if isinstance(action, Keypress) else getattr(action, "keys", None)
        held = {"keys": keys} if keys else {}
        await self._call_method(action.type, *_FULL[action.type](action), **held)

    async def _act_small(self, action: Action) -> None:
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

    async def _call_method(self, name: str, *args: object, **held: object) -> Any:
        method: Callable[..., Any] | None = getattr(self._computer, name, None)
        if method is None:
            raise ToolError(f"This computer cannot {name.replace('_', ' ')}.")
        if held and "keys" not in inspect.signature(method).parameters:
            raise ToolError("This computer cannot hold keys meanwhile.")
        if inspect.iscoroutinefunction(method):
            return await method(*args, **held)
        loop = asyncio.get_running_loop()
        value = await loop.run_in_executor(self._thread, lambda: method(*args, **held))
        return await value if inspect.isawaitable(value) else value

    def _check(self, action: Action) -> None:
        width, height = self.size
        places: Sequence[Any] = action.path if isinstance(action, Drag) else [action]
        for place in places:
            x, y = getattr(place, "x", 0), getattr(place, "y", 0)
            if not (0 <= x < width and 0 <= y < height):
                raise ToolError(
                    f"({x}, {y}) is not on the screen, which is {width} x {height} pixels; "
                    "coordinates count from 0."
                )


# — what other models call the same —

_CLICKS = {"left_click": "left", "right_click": "right", "middle_click": "wheel"}
_NOTCH = 100
_WAYS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


def from_openai(given: Mapping[str, Any]) -> dict[str, object]:
    """The arguments of a ``computer_call``: its actions, and the checks that wait for a person."""
    checks = given.get("pending_safety_checks") or []
    actions = [{k: v for k, v in dict(one).items() if v is not None} for one in given["actions"]]
    return {"actions": actions, **({"safety_checks": checks} if checks else {})}


def from_anthropic(given: Mapping[str, Any]) -> dict[str, object]:
    """The arguments of a call of Claude's computer tool.

    Raises:
        ValueError: for an action that has no counterpart.

    >>> from_anthropic({"action": "left_click", "coordinate": [5, 9]})
    {'actions': [{'type': 'click', 'x': 5, 'y': 9, 'button': 'left'}]}
    """
    action = str(given.get("action"))
    at = dict(zip(("x", "y"), given.get("coordinate") or (), strict=False))
    held = {"keys": str(given["text"]).split("+")} if given.get("text") else {}
    if action in _CLICKS:
        return _single("click", **at, button=_CLICKS[action], **held)
    if action in _KEYBOARD:
        return _KEYBOARD[action](str(given["text"]))
    match action:
        case "mouse_move":
            return _single("move", **at)
        case "double_click" | "triple_click":
            return _single("double_click", **at, **held)
        case "left_click_drag":
            path = [given["start_coordinate"], given["coordinate"]]
            return _single("drag", path=[{"x": x, "y": y} for x, y in path])
        case "scroll":
            right, down = _WAYS[str(given["scroll_direction"])]
            far = int(given.get("scroll_amount", 3)) * _NOTCH
            return _single("scroll", **at, scroll_x=right * far, scroll_y=down * far, **held)
        case "wait":
            return _single("wait", seconds=given.get("duration", WAIT))
        case "screenshot" | "cursor_position" | "zoom":
            return _single("screenshot")
    raise ValueError(f"no action {action!r}")


_KEYBOARD: Mapping[str, Callable[[str], dict[str, object]]] = {
    "key": lambda text: _single("keypress", keys=text.split("+")),
    "type": lambda text: _single("type", text=text),
}


def _single(type: str, **keys: object) -> dict[str, object]:
    return {"actions": [{"type": type, **keys}]}
