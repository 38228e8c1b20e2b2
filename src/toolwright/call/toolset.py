"""`Toolset`: uniquely named tools that can be found, chosen from and run."""

from __future__ import annotations

import copy
import dataclasses
import difflib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast, get_args

from toolwright.call.approve import Approval, unchangeable
from toolwright.call.batch import Batch, check_calls, check_turn
from toolwright.call.bridge import run_sync
from toolwright.call.guarded import as_guards, guarding
from toolwright.call.invoke import begin_bare, invoke, is_bare
from toolwright.call.lock import check_resources, locking
from toolwright.call.mask import cover, learning
from toolwright.call.pipeline import Entry, start_call
from toolwright.call.rules import Rules
from toolwright.call.step import (
    Begin,
    Handler,
    awaited,
    beginning,
    check_enabled,
    compose,
    rechecks,
)
from toolwright.call.stop import watched
from toolwright.call.threads import ThreadPool
from toolwright.call.validate import renewing, revalidate
from toolwright.call.whole import Whole
from toolwright.context import Run
from toolwright.define.base import HoldsTool, as_tool, check_bound
from toolwright.define.names import check_name, wire_names
from toolwright.define.options import check_steps
from toolwright.define.tool import AnyTool, Place, Step
from toolwright.errors import (
    DuplicateToolError,
    SetupError,
    Suspend,
    UnknownTool,
)
from toolwright.messages import ToolCall, ToolMessage

Toolish = AnyTool | HoldsTool | Callable[..., Any]
PLACES = get_args(Place)
LISTED = 20
"""Names listed for a model that asked for an unknown tool."""


class Toolset:
    """Tools in order, each under one name.

    Usable without an agent and without an event loop: `run_sync` takes the calls of any client's
    reply and gives back their results.

    Args:
        tools: Tools, objects with a `tool`, or plain functions that become tools.
        steps: Steps around every call, outermost first; a tool's own steps come inside them.
        rules: Which calls are refused, asked about or let through.
        parallel: Whether calls of one turn may overlap.
        width: How many calls of one turn may run at once; None for all.
        threads: Threads for sync bodies; None to share those of the process.

    Attributes:
        has_answers: Whether some tool answers the person itself (`return_direct`).
        has_barriers: Whether some tool lets no other call of its turn run beside it.
        has_secrets: Whether some tool has arguments that must not be shown.

    Raises:
        DuplicateToolError: two tools have the same name.
        DefinitionError: a function cannot become a tool, or a method waits for its instance.
        SetupError: `width` or `threads` leaves no room for a single call.

    >>> def add(a: int, b: int) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> tools = Toolset([add])
    >>> [result] = tools.run_sync([ToolCall("1", "add", '{"a": 2, "b": 3}')])
    >>> result.content
    '5'
    """

    def __init__(
        self,
        tools: Iterable[Toolish] = (),
        *,
        steps: Sequence[Step] = (),
        rules: Rules | None = None,
        parallel: bool = True,
        width: int | None = None,
        threads: int | None = None,
    ) -> None:
        for what, room in (("width", width), ("threads", threads)):
            if room is not None and room < 1:
                raise SetupError(f"Toolset({what}={room}): it needs room for at least one call")
        check_steps(steps)
        self.steps = tuple(steps)
        self.rules = rules
        self.parallel = parallel
        self._width = width if parallel else 1
        self._threads = threads
        self._invoke: Handler = invoke
        if threads is not None:
            self._invoke = functools.partial(invoke, pool=ThreadPool(threads))
        self.has_answers = self.has_barriers = False
        self._entries: dict[str, Entry] = {}
        self._aliases: dict[str, str] | None = None
        self.has_secrets = False
        for item in carried(tools):
            self._add(item)

    def _add(self, item: Toolish) -> None:
        made = as_tool(item)
        check_bound(made)
        if made.name in self._entries:
            first = self._entries[made.name].tool
            raise DuplicateToolError(
                f"two tools are called {made.name!r}: {_owner(first)} and {_owner(made)}; "
                "give one of them another name, @tool('name'), or use with_prefix"
            )
        self.has_secrets = self.has_secrets or made.arguments.mask is not None
        begin = begin_of(made, self.steps, self.rules, self._invoke)
        self.has_answers = self.has_answers or made.return_direct
        self.has_barriers = self.has_barriers or made.sequential
        self._entries[made.name] = Entry(made, begin)

    # — as a collection —

    def __iter__(self) -> Iterator[AnyTool]:
        return (entry.tool for entry in self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> AnyTool:
        try:
            return self.find(name).tool
        except UnknownTool as error:
            raise KeyError(error.text) from None

    def __repr__(self) -> str:
        return f"Toolset({', '.join(self.names)})"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._entries)

    @property
    def wire_names(self) -> Mapping[str, str]:
        """Each tool's name as every provider takes it; most are the same."""
        if self._aliases is None:
            self._aliases = wire_names(self.names)
        return self._aliases

    def find(self, name: str) -> Entry:
        """Look a tool up by its name, or by the name it has on the wire.

        Raises:
            UnknownTool: naming the nearest names and what can be called.
        """
        entry = self._entries.get(name)
        return entry if entry is not None else self._find_alias(name)

    def _find_alias(self, name: str) -> Entry:
        name = str(name)  # whatever a wire has put there
        for own, alias in self.wire_names.items():
            if alias == name:
                return self._entries[own]
        near = difflib.get_close_matches(name, self.names, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        listed = ", ".join(self.names[:LISTED]) or "none"
        more = f" and {len(self) - LISTED} more" if len(self) > LISTED else ""
        raise UnknownTool(
            f"There is no tool called {name[:100]!r}.{hint} Tools that can be called: "
            f"{listed}{more}.",
            {"nearest": tuple(near)},
        )

    # — choosing —

    def with_tools(self, tools: Iterable[Toolish]) -> Toolset:
        """Other tools under the same steps, rules and limits."""
        return Toolset(
            tools,
            steps=self.steps,
            rules=self.rules,
            parallel=self.parallel,
            width=self._width,
            threads=self._threads,
        )

    def around(self, *steps: Step, rules: Rules | None = None) -> Toolset:
        """The same tools with further steps outside those they have, perhaps under other rules."""
        return Toolset(
            list(self),
            steps=(*steps, *self.steps),
            rules=rules or self.rules,
            parallel=self.parallel,
            width=self._width,
            threads=self._threads,
        )

    def beside(self, extra: AnyTool) -> Toolset:
        """The same set and one tool that its steps and rules are not about."""
        other = copy.copy(self)
        other._entries = {**self._entries, extra.name: Entry(extra, begin_of(extra))}
        other._aliases = None
        other.has_secrets = self.has_secrets or extra.arguments.mask is not None
        return other

    def filter(self, wanted: Callable[[AnyTool], bool]) -> Toolset:
        """Those tools for which `wanted` is true."""
        return self.with_tools(item for item in self if wanted(item))

    def rename(self, names: Mapping[str, str]) -> Toolset:
        """The same tools, some under other names.

        Raises:
            SetupError: for a name that is not in the set, or a new one that is none.
        """
        if unknown := [name for name in names if name not in self]:
            raise SetupError(f"cannot rename {', '.join(unknown)}: not in {self!r}")
        return self.with_tools(
            dataclasses.replace(item, name=check_name(names.get(item.name, item.name)))
            for item in self
        )

    def with_prefix(self, prefix: str) -> Toolset:
        """The same tools, each name after `prefix`."""
        return self.rename({name: prefix + name for name in self.names})

    def __add__(self, other: Iterable[Toolish]) -> Toolset:
        """Both sets as one: this one's steps around all, the other's still around its own tools."""
        return self.with_tools([*self, *carried(other)])

    def __radd__(self, other: Iterable[Toolish]) -> Toolset:
        return self.with_tools([*other, *self])

    # — running —

    async def run(
        self, calls: Sequence[ToolCall], run: Run[Any] | None = None
    ) -> list[ToolMessage]:
        """Run the calls of one turn.

        Args:
            calls: In the model's order.
            run: What they share; a new one by default.

        Returns:
            One result per call, in the same order, whatever happened.

        Raises:
            SetupError: the program is wired up wrongly, such as a value to inject that is missing,
                or calls that are none.
        """
        run = run or Run()
        try:
            if len(calls) != 1 or self.has_secrets or run.cancel.cancelled:
                check_calls(calls)
                batch = self.batch(calls, run)
                await batch.run()
                return batch.results
            # A call alone is most of all turns, and needs nothing of what a batch keeps.
            done = start_call(calls[0], self, run)
            message, fatal = done if isinstance(done, tuple) else await done
        except (AttributeError, TypeError):
            check_turn(calls, run)
            raise
        if fatal is None:
            return [message]
        if isinstance(fatal, Suspend):
            return []
        raise fatal

    def run_sync(self, calls: Sequence[ToolCall], run: Run[Any] | None = None) -> list[ToolMessage]:
        """`run` for sync code; works with and without a running event loop."""
        return run_sync(lambda: self.run(calls, run))

    def batch(self, calls: Sequence[ToolCall], run: Run[Any]) -> Batch:
        """The calls of one turn, not yet running: for callers that outlive a cancellation."""
        if self.has_secrets:
            self.cover(run, calls)
        return Batch(calls, self, run, self._width)

    def cover(self, run: Run[Any], calls: Sequence[ToolCall] = ()) -> None:
        """Let a run mask what its tools call secret, if they do."""
        if self.has_secrets:
            cover(run, self, self.wire_names, calls)


def carried(tools: Iterable[Toolish]) -> Iterable[Toolish]:
    """The tools as they can stand in another set: those of a set take along what holds for them.

    Raises:
        SetupError: the set has rules, which are about a whole set; or it is one tool and no list.
    """
    if not isinstance(tools, Toolset):
        if not isinstance(tools, Iterable):
            raise SetupError(f"tools are {tools!r:.80}; give a list: [...]")
        return tools
    if tools.rules is not None:
        raise SetupError(f"{tools!r} has rules of its own: give them to the set it goes into")
    return [
        dataclasses.replace(
            item,
            steps=(*tools.steps, *item.steps),
            sequential=item.sequential or not tools.parallel,
        )
        for item in tools
    ]


def begin_of(
    made: AnyTool,
    steps: Sequence[Step] = (),
    rules: Rules | None = None,
    last: Handler = invoke,
) -> Begin:
    """Everything around a tool's body and the body itself, put together once.

    From the outside in: is it enabled, steps and guards, approval, locks, limits, cache, retries.

    Args:
        made: The tool.
        steps: Outside those of the tool, outermost first.
        rules: Which calls are refused, asked about or let through.
        last: Runs the body.
    """
    if (check := getattr(made.executor, "check_tool", None)) is not None:
        check(made)
    outer, inner = _parted((*steps, *made.steps), made)
    bare = is_bare(made)
    if bare:
        last = awaited(begin_bare)
    if made.arguments.mask is not None:
        last = learning(made.arguments.mask, last)
    if any(getattr(step, "place", "") == "retry" for step in inner):
        last = renewing(last)
    guards = rechecks(outer)
    if made.enabled is not True:
        outer.insert(0, check_enabled)
    if made.effects.resources:
        check_resources(made)
        inner.insert(0, locking(guards))
    asks = rules is not None or made.approval is not False
    if not (inner or asks) and (not outer or as_guards(outer)):
        # Without a mask nothing else stands around it.
        begin = begin_bare if bare and made.arguments.mask is None else beginning(last)
        return guarding(as_guards(outer), begin) if outer else begin
    if asks:
        approval = Approval(made.approval, rules, guards)
        within = compose(inner, approval.seal(last), unchangeable)
        return beginning(watched(compose(outer, approval.around(within), revalidate)))
    return beginning(watched(compose(outer, compose(inner, last, unchangeable), revalidate)))


def _parted(steps: Sequence[Step], made: AnyTool) -> tuple[list[Step], list[Step]]:
    """The steps before approval, and those after it in the order of their places.

    Raises:
        SetupError: a step cannot work with the tool, or stands at no place there is.
    """
    inner: list[tuple[int, Step]] = []
    outer: list[Step] = []
    for step in steps:
        if (check := getattr(step, "check_tool", None)) is not None:
            check(made)
        place = getattr(step, "place", None)
        if place is None:
            outer.append(step)
        elif place in PLACES:
            inner.append((PLACES.index(place), step))
        else:
            raise SetupError(f"{made.name}: a step stands at {place!r}; places are {PLACES}")
    if made.arguments.whole is not None:
        outer.insert(0, Whole())
    return outer, [step for _, step in sorted(inner, key=lambda item: item[0])]


def _owner(item: AnyTool) -> str:
    function = cast("Any", item.function)
    module = getattr(function, "__module__", None) or type(function).__module__
    return f"{module}.{getattr(function, '__qualname__', item.name)}"


def as_toolset(tools: Toolset | Iterable[Toolish]) -> Toolset:
    """`tools` as a set."""
    return tools if isinstance(tools, Toolset) else Toolset(tools)
