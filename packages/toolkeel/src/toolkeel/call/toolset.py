"""`Toolset`: tools with unique names that can be looked up, selected and run."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from toolkeel._common.checked_arguments import checked
from toolkeel._common.other_libraries_words import attribute_hints
from toolkeel._records.record import NotebookDisplay
from toolkeel.call.arguments.mask import mask_tools
from toolkeel.call.batch import NO_LENDERS, Batch, check_calls
from toolkeel.call.body.run_body import invoke
from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.call.body.thread_pool import ThreadPool
from toolkeel.call.compose_tool import compose_tool
from toolkeel.call.enclosing_run import join_run, refuse_waiting
from toolkeel.call.pipeline import Entry
from toolkeel.call.steps.compose import Handler
from toolkeel.call.steps.rules import Rules, check_rules, join_rules
from toolkeel.call.steps.taint import can_act
from toolkeel.call.truncate import KEEPER, Keeper
from toolkeel.context import RunContext
from toolkeel.define.base_tool import HasTool, as_tool, require_bound
from toolkeel.define.inject import has_secret_injected
from toolkeel.define.names import check_name, wire_names
from toolkeel.define.options import check_steps
from toolkeel.define.similar_tool_names import equivalent_names, nearest_tools
from toolkeel.define.tool import AnyTool, Step
from toolkeel.define.tool_mistakes import explain_non_list, owner_of
from toolkeel.errors import DuplicateToolError, SetupError, UnknownTool
from toolkeel.messages import ToolCall, ToolMessage

Toolish = AnyTool | HasTool | Callable[..., Any]
HIDES_OTHERS = "hides_others"
"""Metadata key of the tool by which a model finds the others: a wrong name lists none of them."""
LISTED = 20
"""Names listed for a model that asked for an unknown tool."""


@checked
class Toolset(NotebookDisplay):
    """Tools in order, each under one name.

    It works without an agent or an event loop: `run_sync` runs the calls of any client's reply and
    returns their results.

    Args:
        tools: Tools, objects with a `tool`, or plain functions that become tools.
        steps: Steps around every call, outermost first; a tool's own steps come inside them.
        rules: Rules that deny, ask about or allow calls.
        parallel: False to run the calls of a turn one after the other.
        max_concurrency: Maximum number of calls of one turn that run at the same time; None for all.
        max_threads: Threads for sync bodies; None to share those of the process.

    Attributes:
        has_ends_run: True if some tool's result is the answer (`ends_run`).
        has_barriers: True if some tool is `sequential`.
        keeper: Name and function of the tool that reads results too long to show; None for none.
        has_secrets: True if some tool has secret arguments or injected values.

    Raises:
        DuplicateToolError: two tools have the same name.
        DefinitionError: a function cannot become a tool, or a tool is a method without its instance.
        SetupError: `max_concurrency` or `max_threads` is less than 1.

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
        max_concurrency: int | None = None,
        max_threads: int | None = None,
    ) -> None:
        for what, room in (("max_concurrency", max_concurrency), ("max_threads", max_threads)):
            if room is not None and room < 1:
                raise SetupError(f"Toolset({what}={room}): it needs room for at least one call")
        check_steps(steps)
        self.steps = tuple(steps)
        self.rules = rules
        self.parallel = parallel
        self._max_concurrency = max_concurrency if parallel else 1
        self._invoke: Handler = invoke
        if max_threads is not None:
            self._invoke = functools.partial(invoke, pool=ThreadPool(max_threads))
        self._set_tools(tools)
        if rules is not None:
            check_rules(rules, list(self))

    def _set_tools(self, tools: Iterable[Toolish]) -> None:
        """Replace the tools of this set, or raise as the class does."""
        self.has_ends_run = self.has_barriers = self.has_secrets = False
        self._entries: dict[str, Entry] = {}
        self._aliases: dict[str, str] | None = None
        self._within: tuple[Toolset, Toolset] | None = None
        self._tainted_handlers: dict[str, Handler] = {}
        self.keeper: Keeper | None = None
        for item in unpack_tools(tools):
            self._add(item)

    def _add(self, item: Toolish) -> None:
        """Add a tool with its composed steps, and record the traits that the toolset has by it.

        Raises `DuplicateToolError` if its name is taken.
        """
        made = as_tool(item)
        require_bound(made)
        if made.name in self._entries:
            first = self._entries[made.name].tool
            if first.function is made.function:
                raise DuplicateToolError(f"{made.name!r} is listed twice; list it once")
            raise DuplicateToolError(
                f"two tools are called {made.name!r}: {owner_of(first)} and {owner_of(made)}; give one "
                "of them another name, @tool('name'), of an agent .as_tool('name'), or use with_prefix"
            )
        self.has_secrets = self.has_secrets or _has_secrets(made)
        handler = compose_tool(made, self.steps, self.rules, self._invoke)
        self.has_ends_run = self.has_ends_run or made.ends_run
        self.has_barriers = self.has_barriers or made.sequential
        keep: Any = made.metadata.get(KEEPER)
        if callable(keep):
            self.keeper = cast("Keeper", (made.name, keep))
        self._entries[made.name] = Entry(made, handler)

    if not TYPE_CHECKING:  # there, an unknown attribute stays unknown
        __getattr__ = attribute_hints("Toolset.")

    # — as a collection —

    def __iter__(self) -> Iterator[AnyTool]:
        return (entry.tool for entry in self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> AnyTool:
        """Return the tool of a name, or raise `KeyError` with suggestions."""
        try:
            return self.find(name).tool
        except UnknownTool as error:
            raise KeyError(error.text) from None

    def __repr__(self) -> str:
        return f"Toolset({', '.join(self.names)})"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all tools, in order."""
        return tuple(self._entries)

    @property
    def wire_names(self) -> Mapping[str, str]:
        """Names that every provider accepts, by tool name. Most are equal."""
        if self._aliases is None:
            self._aliases = wire_names(self.names)
        return self._aliases

    def find(self, name: str, disabled: Container[str] = ()) -> Entry:
        """Return the entry of a tool by its name, its name on the wire, or another spelling of it.

        Args:
            disabled: Names of tools that the error does not suggest, as they cannot be called now.

        Raises:
            UnknownTool: there is no such tool; the message names the nearest ones.
        """
        entry = self._entries.get(name)
        return entry if entry is not None else self._find_alias(name, disabled)

    def tainted_handler(self, entry: Entry) -> Handler:
        """Return a tool's handler, composed once, for a run with taint labels, which may require approval."""
        made = entry.tool
        if self.rules is not None or made.approval or not can_act(made):
            return entry.handler
        if (handler := self._tainted_handlers.get(made.name)) is None:
            handler = compose_tool(made, self.steps, self.rules, self._invoke, watch=True)
            self._tainted_handlers[made.name] = handler
        return handler

    def _find_alias(self, name: str, disabled: Container[str]) -> Entry:
        """Return the entry of a tool by its wire name or a similar spelling, or raise `UnknownTool`."""
        name = str(name)  # whatever a wire has put there
        for own, alias in self.wire_names.items():
            if alias == name:
                return self._entries[own]
        known = [own for own, each in self._entries.items() if each.tool.enabled is not False]
        names = [own for own in known if own not in disabled]
        matching = equivalent_names(name, names)
        if len(matching) == 1:
            entry = self._entries[matching[0]]
            return Entry(entry.tool, entry.handler, name)
        searches = [
            own for own, each in self._entries.items() if HIDES_OTHERS in each.tool.metadata
        ]
        if searches:
            raise UnknownTool(
                f"There is no tool called {name[:100]!r}. Find tools with {searches[0]}."
            )
        near = matching[:3] or nearest_tools(name, names)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        listed = ", ".join(names[:LISTED]) or "none"
        more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
        raise UnknownTool(
            f"There is no tool called {name[:100]!r}.{hint} Tools that can be called: "
            f"{listed}{more}.",
            {"nearest": tuple(near)},
        )

    # — choosing —

    def with_tools(self, tools: Iterable[Toolish]) -> Toolset:
        """Return a set of other tools with the same steps, rules and limits, or raise as the class does."""
        other = copy.copy(self)
        other._set_tools(tools)
        return other

    def with_steps(self, *steps: Step, rules: Rules | None = None) -> Toolset:
        """Return the same tools within steps and, if given, other rules. Raises `SetupError` if a step does not fit."""
        check_steps(steps)
        other = copy.copy(self)
        other.steps, other.rules = (*steps, *self.steps), rules or self.rules
        other._set_tools(list(self))
        return other

    def within(self, outer: Toolset | None) -> Toolset:
        """Return a set of the same tools inside the steps and rules of another set. Raises as `with_steps`.

        Args:
            outer: The other set; its steps for single calls, such as caches and retries, do not apply.
                None returns this set.
        """
        if outer is None or outer is self:
            return self
        if self._within is None or self._within[0] is not outer:
            steps = [s for s in outer.steps if _reaches_inside(s) and s not in self.steps]
            rules = join_rules(outer.rules, self.rules)
            same = not steps and rules is self.rules
            self._within = outer, self if same else self.with_steps(*steps, rules=rules)
        return self._within[1]

    def with_extra_tool(self, extra: AnyTool) -> Toolset:
        """Return a set with a further tool, outside its steps and rules, in place of one of its name. May raise `SetupError`."""
        other = copy.copy(self)
        other._entries = {**self._entries, extra.name: Entry(extra, compose_tool(extra))}
        other._aliases = other._within = None
        other._tainted_handlers = {}
        other.has_secrets = self.has_secrets or _has_secrets(extra)
        return other

    @checked
    def filter(self, wanted: Callable[[AnyTool], bool]) -> Toolset:
        """Return a copy with only the tools for which `wanted` is true; steps and rules stay."""
        return self.with_tools(item for item in self if wanted(item))

    @checked
    def rename(self, names: Mapping[str, str]) -> Toolset:
        """Return a set of the same tools, some with other names.

        Raises:
            SetupError: a name is not in the set, or a new one is invalid or taken.
        """
        if unknown := [name for name in names if name not in self]:
            raise SetupError(f"cannot rename {', '.join(unknown)}: not in {self!r}")
        return self.with_tools(
            dataclasses.replace(item, name=check_name(names.get(item.name, item.name)))
            for item in self
        )

    @checked
    def with_prefix(self, prefix: str) -> Toolset:
        """Return the same tools with `prefix` before each name, or raise `DefinitionError` if one is invalid."""
        return self.rename({name: prefix + name for name in self.names})

    def __add__(self, other: Iterable[Toolish]) -> Toolset:
        """Return both sets as one; each tool keeps its steps. Raises as the class, or if `other` has rules."""
        return self.with_tools([*self, *unpack_tools(other)])

    def __radd__(self, other: Iterable[Toolish]) -> Toolset:
        return self.with_tools([*other, *self])

    # — running —

    async def run(
        self, calls: Sequence[ToolCall], run: RunContext | None = None
    ) -> list[ToolMessage]:
        """Run the calls of one turn and return their results.

        Args:
            calls: In the model's order.
            run: The run that they belong to; by default the one whose code makes them, or a new one.
                `RunContext()` separates them from the run around them.

        Returns:
            One result per call, in the same order, failed or not. A call that a tool's body makes and
            that would wait for a person is refused, since a body cannot be suspended.

        Raises:
            SetupError: a mistake of the program, such as a missing value to inject, or items that are
                no calls.
            BaseException: cancellation from outside, or the exception of a guard that ends the run.
        """
        run = join_run(run)
        check_calls(calls)
        if run.loop_state.can_suspend and run.can_wait:  # an agent's: a body makes these calls
            with refuse_waiting(run):
                return await self.run(calls, run)
        if run.recorder is not None and (by_code := run.recorder.code_runner(calls)) is not None:
            return await by_code(calls, self, run)
        if run.taint is not None:
            run.loop_state.visible_taint = len(run.taint.sources)
        batch = self.within(run.scope.toolset).batch(calls, run)
        await batch.run()
        return batch.results

    def run_sync(
        self, calls: Sequence[ToolCall], run: RunContext | None = None
    ) -> list[ToolMessage]:
        """Do as `run` from sync code, with or without an event loop; raise `SetupError` on the library's own loop."""
        return run_sync(lambda: self.run(calls, run))

    def batch(
        self,
        calls: Sequence[ToolCall],
        run: RunContext,
        lenders: Mapping[str, Toolset] = NO_LENDERS,
    ) -> Batch:
        """Return the calls of one turn as a `Batch`, not started; mask their secrets in the run.

        Args:
            calls: In the model's order.
            run: The run that they belong to.
            lenders: The sets of calls whose tools are not of this set, by call id.
        """
        if self.has_secrets:
            self.mask_secrets(run, calls)
        for lender in lenders.values():
            lender.mask_secrets(run, calls)
        return Batch(calls, self, run, self._max_concurrency, lenders)

    def mask_secrets(self, run: RunContext, calls: Sequence[ToolCall] = ()) -> None:
        """Make a run mask the secret arguments of these tools; those of `calls` at once, also in logs."""
        if self.has_secrets:
            mask_tools(run, self, self.wire_names, calls)


def _has_secrets(tool: AnyTool) -> bool:
    """Return True if a tool has secret parameters or is passed secrets by the program."""
    return tool.arguments.mask is not None or has_secret_injected(tool.injected)


def _reaches_inside(step: Step) -> bool:
    """Return True if a step also applies to calls that a call's body makes."""
    return getattr(step, "place", None) in (None, "limit") and getattr(step, "inside", True)


def unpack_tools(tools: Iterable[Toolish]) -> Iterable[Toolish]:
    """Return the tools of a set with its steps, so that they can join another set; a list as it is.

    Raises:
        SetupError: A set has rules, which cannot be split; or `tools` is one tool and no list.
    """
    if not isinstance(tools, Toolset):
        if not isinstance(tools, Iterable):
            raise SetupError(f"tools are {tools!r:.80}; give a list: [...]")
        if wrong := explain_non_list(tools):
            raise SetupError(wrong)
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


def as_toolset(tools: Toolset | Iterable[Toolish]) -> Toolset:
    """Return `tools` itself if it is a `Toolset`, else a new one of them, or raise as the class does."""
    return tools if isinstance(tools, Toolset) else Toolset(tools)
