"""Sources of taint labels: which results are private, a stranger's or secret, and how runs store that.

`with_labels` wraps the body of a tool whose results are labelled and records their sources, even if the
body fails. `attach_labels` writes the sources of a turn into the details of its last result, so a saved
transcript has them; `restore_labels` reads them back when a run resumes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import chain

from toolkeel._common.reporter import running_loop
from toolkeel._records.taint_sources import (
    CALLER,
    FILES,
    OURS,
    UNREAD,
    Source,
    dump_sources,
    load_sources,
    mark_file,
    read_file_mark,
)
from toolkeel.call.enclosing_run import note_strangers
from toolkeel.call.steps.compose import Handler
from toolkeel.call.steps.mentioned_targets import ATTACHED, may_name_targets, target_texts
from toolkeel.call.steps.resources import mentioned_files, resource_keys, secrets_read
from toolkeel.content import Audio, Data, File, Image, Text
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.events import Tainted
from toolkeel.messages import AssistantMessage, Message, ToolMessage, UserMessage

TRUSTED = "trusted"
"""Key of a tool's metadata: hosts that may receive any data, ``*.example.org`` for all below.

In the ``extra`` of a block that a person sends: False if the text is by another author; else it is the person's own."""
WORDS = "words_of"
"""Key of a tool's metadata: tells which stranger wrote its description, until somebody approved it."""
PRIVATE = "private"
"""The tag of a tool that reads private data; those of ``file:`` and ``db:`` resources need none."""
ORIGIN = "origin"
"""Key of a tool's metadata: the server that it belongs to (`Source.origin`)."""
MOST_SOURCES = 20
"""Sources of each label that are stored with a value: the last ones."""


def labels_of(tool: AnyTool) -> tuple[str, ...]:
    """Return the labels that a result of a tool leaves on the run."""
    return tuple(dict.fromkeys(source.label for source in _sources_of(tool, "")))


def origin_of(tool: AnyTool) -> str:
    """Return the server that a tool belongs to; empty for a tool of the program."""
    return str(tool.metadata.get(ORIGIN, ""))


def _sources_of(tool: AnyTool, what: str) -> list[Source]:
    """Return one source for each label that a result of a tool has.

    Rows of a database are private and may be anybody's. So are files of a folder, which do not count as
    a stranger's for other files of it (`FILES`).
    """
    effects, origin = tool.effects, origin_of(tool)
    resources = [str(key).partition(":")[0] for key in effects.resources]
    rows, files = "db" in resources, "file" in resources
    is_ours = bool(tool.metadata.get(OURS))
    found = []
    if effects.private or rows or files or PRIVATE in tool.tags:
        found.append(Source("private", tool.name, what, origin))
    if effects.stranger or (rows and not is_ours):
        found.append(Source("stranger", tool.name, what, origin))
    elif files and not is_ours:
        found.append(Source("stranger", tool.name, what, FILES))
    return found


def with_labels(tool: AnyTool, last: Handler, *, is_strict: bool = False) -> Handler:
    """Return a handler that labels the run when the body ends, fails or is stopped.

    A result or error whose details say `UNREAD` labels nothing. Files that the call changes are marked
    if the run has read untrusted text.

    Args:
        tool: The tool.
        last: Runs its body.
        is_strict: True to label its results private and a stranger's, as its effects are not declared.
    """
    origin, undeclared = origin_of(tool), ("private", "stranger") if is_strict else ()
    files = any(str(key).startswith("file:") for key in tool.effects.resources)

    async def marked(prepared: Prepared, context: ToolContext) -> object:
        """Run the body, then record the sources of its result and its labels on changed files.

        Both happen after a failure, too.
        """
        details: object = None
        before = mentioned_files(prepared) if files else {}
        reads = tool.effects.read_only or not tool.effects.idempotent  # else it replaces the whole
        marks = [(path, text) for path in before if reads and (text := read_file_mark(path))]
        try:
            value = await last(prepared, context)
            details = getattr(value, "details", None)
            return value
        except BaseException as error:
            details = getattr(error, "details", None)
            raise
        finally:
            what = next(iter(target_texts(prepared)), "")[:200]
            stated = details if isinstance(details, Mapping) else {}
            found: list[Source] = []
            if not stated.get(UNREAD):
                found += _sources_of(tool, what)
                found += [Source(label, tool.name, what, origin) for label in undeclared]
                secrets = secrets_read(prepared)
                found += [Source("secret", tool.name, path[:200], origin) for path in secrets]
                found += [
                    Source("stranger", tool.name, f"{path} ({by})"[:300]) for path, by in marks
                ]
            for source in found:
                record_source(context.run, source, context)
            if files and not tool.effects.read_only:
                _mark_changed(prepared, context.run, before)

    return marked


def _mark_changed(
    prepared: Prepared, run: RunContext, before: Mapping[str, tuple[int, int]]
) -> None:
    """Mark files that a call names and has changed, if the run had read untrusted text other than files."""
    taint = run.taint
    sources = taint.sources_before(len(taint.sources)) if taint is not None else {}
    found = [source for source in sources.get("stranger", ()) if source.origin != FILES]
    shell = isinstance(prepared.tool.metadata.get("shell"), str)
    roots = [key[5:] for key in resource_keys(prepared) if shell and key.startswith("file:")]
    for path, state in mentioned_files(prepared).items() if found else ():
        if before.get(path) != state:
            for below in roots or [""]:  # a command may have made a link that leads out of them
                mark_file(path, str(found[-1]), below)


_COLLECTED: ContextVar[tuple[dict[Source, None], ...]] = ContextVar("_COLLECTED", default=())


@contextmanager
def collect_sources() -> Iterator[dict[Source, None]]:
    """Collect the sources that the code of a block records, also those that its run has already."""
    found: dict[Source, None] = {}
    token = _COLLECTED.set((*_COLLECTED.get(), found))
    try:
        yield found
    finally:
        _COLLECTED.reset(token)


def as_read_by_others(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Return the last `MOST_SOURCES` sources of each label, newest first, as they count for other runs.

    Attachments of a run's caller lose that origin, as they may be a stranger's for another caller.
    """
    found: dict[str, dict[Source, None]] = {}
    for source in reversed(list(sources)):
        of_label = found.setdefault(source.label, {})
        if len(of_label) < MOST_SOURCES:
            is_own = source.origin == CALLER
            of_label[dataclasses.replace(source, origin="") if is_own else source] = None
    return tuple(source for of_label in found.values() for source in of_label)


def record_source(
    run: RunContext, source: Source, context: ToolContext | None = None, *, is_read: bool = True
) -> None:
    """Add a source of labels to the run, its journal and events, if it is new. Any thread may call this.

    New or not, it counts for `collect_sources` and, if a stranger's, for the call.

    Args:
        run: The run.
        source: The source.
        context: The call that has read it; None if other code has.
        is_read: False if it was read before, and is in the transcript.
    """
    if source.label == "stranger" and context is not None:
        note_strangers((source,), context)
    for collected in _COLLECTED.get():
        collected[source] = None
    if run.get_taint().add(source, is_read=is_read):
        if run.recorder is not None:
            run.recorder.record_taint(source.label, source.to_text())
        if run.listeners:
            loop, emit = run.loop_state.event_loop, partial(_emit_source, run, source, context)
            if loop is None or loop is running_loop():
                emit()
            else:  # code in a thread, which has read it from a store
                loop.call_soon_threadsafe(emit)


def _emit_source(run: RunContext, source: Source, context: ToolContext | None) -> None:
    """Emit the event that the run has read from a source; `context` None: from no call."""
    about = "" if context is None else context.call.id, source.label, source.tool, source.what
    run.emit(Tainted(*run.next_event_fields(), *about))


def record_stated(details: Mapping[str, object], context: ToolContext) -> None:
    """Add the sources that a result's details state to the run of its call."""
    for source in load_sources(details):
        record_source(context.run, source, context)


def restore_labels(run: RunContext, messages: Iterable[Message], tools: Iterable[AnyTool]) -> None:
    """Restore the labels of a run from its transcript and its tools' descriptions, all of them visible.

    Descriptions of tools count, too, that come from an unapproved server.
    """
    for source in _described(tools):
        record_source(run, source, is_read=False)
    messages, of_caller = list(messages), not run.scope.parent_id
    for source in chain.from_iterable(_attached(message, of_caller) for message in messages):
        record_source(run, source, is_read=False)
    results = [message for message in messages if isinstance(message, ToolMessage)]
    for source in chain.from_iterable(load_sources(message.details) for message in results):
        run.get_taint().add(source)
    for source in _undetailed(results, tools, run):
        run.get_taint().add(source)
    if run.taint is not None:
        run.loop_state.visible_taint = run.loop_state.request_taint = len(run.taint.sources)


def _undetailed(
    results: Iterable[ToolMessage], tools: Iterable[AnyTool], run: RunContext
) -> list[Source]:
    """Return the sources of the tools of successful results that the run's taint does not have yet.

    Results whose details say `UNREAD` are left out.
    """
    told = (each for each in results if not (each.failed or each.details.get(UNREAD)))
    read = {message.name for message in told}
    sources = run.taint.sources if run.taint is not None else ()
    stated = {(each.label, each.tool, each.origin) for each in sources}
    found = [each for tool in tools if tool.name in read for each in _sources_of(tool, "")]
    return [each for each in found if (each.label, each.tool, each.origin) not in stated]


def _described(tools: Iterable[AnyTool]) -> Iterator[Source]:
    """Yield a source for each tool whose description a stranger wrote."""
    for tool in tools:
        if callable(words := tool.metadata.get(WORDS)) and (whose := words()):
            yield Source("stranger", str(whose), "(what its tools are said to do)", origin_of(tool))


def _attached(message: Message, of_caller: bool) -> Iterator[Source]:
    """Yield the sources of a message's attachments: documents, media, and text by others.

    An assistant's message has some if it was not the model that wrote it, but a server's prompt.

    Args:
        message: The message.
        of_caller: True if the caller of the outermost run wrote it, and no body of a tool.
    """
    is_user = isinstance(message, UserMessage)
    is_person = isinstance(message, UserMessage) and message.origin == "person"
    if isinstance(message, UserMessage | AssistantMessage) and not isinstance(message.content, str):
        for block in message.content:
            words = isinstance(block, Text | Data) and not block.extra.get(ATTACHED)
            own = block.extra.get(TRUSTED, words or not is_user)
            if isinstance(block, File | Image | Audio | Text | Data) and not own:
                what = (
                    block.name if isinstance(block, File) else getattr(block, "media_type", "text")
                )
                is_own = of_caller and is_person and TRUSTED not in block.extra
                origin = CALLER if is_own else ""
                yield Source("stranger", "attachment", what[:200], origin)
                if origin:
                    yield Source("private", "attachment", what[:200], origin)


def attach_strangers(
    message: ToolMessage, prepared: Prepared | None, sources: tuple[Source, ...]
) -> ToolMessage:
    """Return a result with the strangers' texts in its details that its call has read, known or new.

    A result of an unknown tool (None), or of one that may never name targets, is returned as it is.
    """
    if prepared is None or not may_name_targets(prepared.tool):
        return message
    return _with_sources(message, sources)


def _with_sources(message: ToolMessage, sources: Iterable[Source]) -> ToolMessage:
    """Return a result with further sources in its details."""
    every = dict.fromkeys((*load_sources(message.details), *sources))
    return dataclasses.replace(message, details={**message.details, "taint": dump_sources(every)})


def attach_labels(run: RunContext, results: list[ToolMessage]) -> list[ToolMessage]:
    """Return the results of a turn, with its new labels in the details of the last one.

    New labels are those that were not visible to the turn's request.
    """
    state = run.loop_state
    known = state.request_taint if state.can_suspend else state.visible_taint
    new = run.taint.sources[known:] if run.taint is not None else []
    if not new or not results:
        return results
    return [*results[:-1], _with_sources(results[-1], new)]
