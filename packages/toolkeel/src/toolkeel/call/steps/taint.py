"""Information flow: after private or untrusted data, calls that act outward need approval.

Theory of operation. A page, a file or a mail can tell the model to send what it has read to somebody.
So tools whose results are private, untrusted or secret leave labels on the run, and a call is judged
by the labels that the model request behind it had in view.

1. Sources. `with_labels` wraps the body of a tool with labels and calls `record_source`, even if the
   body fails. `attach_labels` writes the sources of a turn into the details of its last result, so a
   saved transcript has them; `restore_labels` reads them back when a run resumes.
2. View. `RunContext.loop_state.visible_taint` is the number of sources when the request was sent. The
   calls of one turn do not taint each other: their request was sent before their results.
3. Judgement. `approval_reason` returns why a call needs approval. A tool that only reads, or whose
   changes stay inside and can be undone, never does. One that acts outward, destroys, or declares no
   effects does, unless every target of the call was mentioned by the user or a trusted result
   (`mentioned_targets`), or the tool is declared `safe_after` these labels.
4. Approval. `record_approval` widens a yes: to the same target, or to the sources read so far.

::

    clean --a labelled tool ran--> labelled, not yet in view
                                        | next model request
                                        v
                                   in view --call acts outward--> target mentioned? --yes--> runs
                                        ^                              | no
                                        |                              v
                                        +--"trust this source"-- person is asked --no--> denied

Labels only grow within a run, and cross into inner runs and sessions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from toolkeel._records.taint_sources import (
    CALLER,
    Source,
    Taint,
    dump_sources,
    load_sources,
    mark_file,
    read_file_mark,
)
from toolkeel.call.steps.addresses import are_trusted_hosts, host_of
from toolkeel.call.steps.compose import Handler
from toolkeel.call.steps.mentioned_targets import (
    is_named,
    target_arguments,
    trusted_texts,
    unmentioned_targets,
)
from toolkeel.call.steps.resources import mentioned_files, resource_keys, secrets_read
from toolkeel.content import Audio, File, Image, Text
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.secret import collect_texts
from toolkeel.define.subschemas import properties_of
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.effects import UNKNOWN
from toolkeel.errors import DefinitionError, ToolError
from toolkeel.events import Tainted
from toolkeel.messages import Message, ToolMessage, UserMessage

TRUSTED = "trusted"
"""Key of a tool's metadata: hosts that may receive any data, ``*.example.org`` for all below.

In the ``extra`` of a block that a person sends: False if the text is by another author; else it is the person's own."""
WORDS = "words_of"
"""Key of a tool's metadata: tells which stranger wrote its description, until somebody approved it."""
PRIVATE = "private"
"""The tag of a tool that reads private data; those of ``file:`` and ``db:`` resources need none."""
ORIGIN = "origin"
"""Key of a tool's metadata: the server whose results never make this tool ask (`Source.origin`)."""
BUILDS = "builds"
"""Key of a tool's metadata: of a path, says by which pattern the next build runs it, if it does."""


# — what leaves a label —


def labels_of(tool: AnyTool) -> tuple[str, ...]:
    """Return the labels that a result of a tool leaves on the run."""
    effects = tool.effects
    reads = any(str(key).startswith(("file:", "db:")) for key in effects.resources)
    private = effects.private or reads or PRIVATE in tool.tags
    return ("private",) * private + ("stranger",) * effects.stranger


def with_labels(tool: AnyTool, last: Handler) -> Handler:
    """Return a handler that labels the run when the body ends, fails or is stopped."""
    labels, origin = labels_of(tool), _origin_of(tool)
    files = any(str(key).startswith("file:") for key in tool.effects.resources)

    async def marked(prepared: Prepared, context: ToolContext) -> object:
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
            what = next(collect_texts(target_arguments(prepared)), "")[:200]
            found = [Source(label, tool.name, what, origin) for label in labels]
            secrets = secrets_read(prepared)
            found += [Source("secret", tool.name, path[:200], origin) for path in secrets]
            found += [Source("stranger", tool.name, f"{path} ({by})"[:300]) for path, by in marks]
            for source in (
                *found,
                *(load_sources(details) if isinstance(details, Mapping) else ()),
            ):
                record_source(context.run, source, context.call.id)
            if files and not tool.effects.read_only:
                _mark_changed(prepared, context.run, before)

    return marked


def _mark_changed(
    prepared: Prepared, run: RunContext, before: Mapping[str, tuple[int, int]]
) -> None:
    """Mark the files that a call changed after the run had read untrusted text."""
    taint = run.taint
    found = taint.sources_before(len(taint.sources)).get("stranger") if taint is not None else None
    for path, state in mentioned_files(prepared).items() if found else ():
        if found and before.get(path) != state:
            mark_file(path, str(found[-1]))


def record_source(run: RunContext, source: Source, call_id: str | None = None) -> None:
    """Add a source of labels to the run.

    Args:
        run: The run.
        source: The source.
        call_id: The call that has read it just now, if one has.
    """
    if run.get_taint().add(source, is_read=call_id is not None):
        if run.recorder is not None:
            run.recorder.record_taint(source.label, source.to_text())
        if run.listeners:
            run.emit(
                Tainted(
                    *run.next_event_fields(), call_id or "", source.label, source.tool, source.what
                )
            )


def restore_labels(run: RunContext, messages: Iterable[Message], tools: Iterable[AnyTool]) -> None:
    """Restore the labels of a run from its transcript and its tools' descriptions.

    Descriptions of tools count, too, that come from an unapproved server.
    """
    for source in _described(tools):
        record_source(run, source)
    known: dict[str, list[Source]] | None = None
    of_caller = not run.scope.parent_id
    for message in messages:
        for source in _attached(message, of_caller):
            record_source(run, source)
        if not isinstance(message, ToolMessage):
            continue
        if known is None:
            known = {
                tool.name: [
                    Source(label, tool.name, "", _origin_of(tool)) for label in labels_of(tool)
                ]
                for tool in tools
            }
        found = () if message.failed else known.get(message.name, ())
        for source in (*load_sources(message.details), *found):
            run.get_taint().add(source)
    if run.taint is not None:
        run.loop_state.visible_taint = len(run.taint.sources)


def _described(tools: Iterable[AnyTool]) -> Iterator[Source]:
    for tool in tools:
        if callable(words := tool.metadata.get(WORDS)) and (whose := words()):
            yield Source("stranger", str(whose), "(what its tools are said to do)")


def _attached(message: Message, of_caller: bool) -> Iterator[Source]:
    """Yield the sources of a message's attachments: documents, media, and text by others.

    Args:
        message: The message.
        of_caller: Whether the caller of the outermost run wrote it, and no body of a tool.
    """
    if isinstance(message, UserMessage) and not isinstance(message.content, str):
        for block in message.content:
            own = block.extra.get(TRUSTED, isinstance(block, Text))
            if isinstance(block, File | Image | Audio | Text) and not own:
                what = (
                    block.name if isinstance(block, File) else getattr(block, "media_type", "text")
                )
                is_own = of_caller and message.origin == "person" and TRUSTED not in block.extra
                origin = CALLER if is_own else ""
                yield Source("stranger", "attachment", what[:200], origin)
                if origin:
                    yield Source("private", "attachment", what[:200], origin)


def attach_labels(run: RunContext, results: list[ToolMessage]) -> list[ToolMessage]:
    """Return the results of a turn, with its new labels in the details of the last one."""
    new = run.taint.sources[run.loop_state.visible_taint :] if run.taint is not None else []
    if not new or not results:
        return results
    last = results[-1]
    details = {**last.details, "taint": dump_sources(new)}
    return [*results[:-1], dataclasses.replace(last, details=details)]


# — what goes out —


def can_act(tool: AnyTool) -> bool:
    """Return True if a run's labels matter to a tool at all."""
    effects = tool.effects
    if set(effects.safe_after) >= {"private", "stranger", "secret"}:
        return False
    if BUILDS in tool.metadata:
        return True
    return effects.open_world or not (effects.read_only or _is_local(tool))


def _is_local(tool: AnyTool) -> bool:
    """Return True if a tool's changes stay inside and can be undone."""
    effects = tool.effects
    files = [str(key).startswith("file:") for key in effects.resources]
    return not effects.open_world and (not effects.destructive or (bool(files) and all(files)))


def check_target(tool: AnyTool) -> None:
    """Raise unless the parameters that a tool names as its target exist.

    Raises:
        DefinitionError: one is not.
    """
    known = properties_of(tool.parameters)
    missing = [name for name in tool.effects.target if name not in known]
    if missing:
        raise DefinitionError(
            f"{tool.name}: its effects name {', '.join(missing)} as target, which is no parameter; "
            f"parameters are {', '.join(known) or 'none'}"
        )


def approval_reason(prepared: Prepared, run: RunContext, allowed: bool = False) -> str:
    """Return why the run's labels require approval of a call, or "" if they do not.

    Args:
        prepared: The call.
        run: Its run.
        allowed: Whether the program allows the call in so many words (`is_allowed`). Then only
            files that the next build executes are asked about.
    """
    taint, tool = run.taint, prepared.tool
    if taint is None or not can_act(tool):
        return ""
    labels = _labels_for(tool, taint.sources_before(run.loop_state.visible_taint))
    if _is_local(tool):  # asks for what it changes alone
        return _builds(prepared, labels)
    if allowed:
        return ""
    if tool.effects.read_only:  # it only reads there: untrusted text harms by what is sent out
        labels.pop("stranger", None)
    return _asks(prepared, taint, labels) if labels else ""


def _labels_for(
    tool: AnyTool, found: Mapping[str, Sequence[Source]]
) -> dict[str, Sequence[Source]]:
    """Return the labels that matter to a tool, each with the sources that do.

    What the run's caller attached counts as the person's own text for a function of the program
    that is not declared to reach out; a trusted server's results do not count for its own tools.
    """
    ignored = {origin} if (origin := _origin_of(tool)) else set()
    if "mcp" not in tool.metadata and (tool.effects == UNKNOWN or not tool.effects.open_world):
        ignored.add(CALLER)
    kept = {
        label: [source for source in sources if source.origin not in ignored]
        for label, sources in found.items()
        if label not in tool.effects.safe_after
    }
    return {label: sources for label, sources in kept.items() if sources}


def _origin_of(tool: AnyTool) -> str:
    return str(tool.metadata.get(ORIGIN, ""))


def _asks(prepared: Prepared, taint: Taint, labels: Mapping[str, Sequence[Source]]) -> str:
    """Return why these labels require approval of a call that acts outside, or ""."""
    tool = prepared.tool
    values = list(collect_texts(target_arguments(prepared)))
    if are_trusted_hosts(values, tool.metadata.get(TRUSTED)):
        return ""
    if values and all((tool.name, value) in taint.targets for value in values):
        return ""
    strange: list[str] = []
    if tool.effects != UNKNOWN and "secret" not in labels:
        strange = unmentioned_targets(prepared, values, taint)
        if not strange and values:
            return ""
    return _why(labels, strange)


def _builds(prepared: Prepared, labels: Mapping[str, Sequence[Source]]) -> str:
    """Return why a change to a file that the next build executes needs approval."""
    part: Any = prepared.tool.metadata[BUILDS]
    found = next(filter(None, map(part, resource_keys(prepared))), "")
    if not found or "stranger" not in labels:
        return ""
    return f"{_why({'stranger': labels['stranger']}, ())}, and the next build runs {found!r}"


def _why(labels: Mapping[str, Sequence[Source]], unnamed: Sequence[str]) -> str:
    words = {
        "private": "private data",
        "stranger": "text that nobody here wrote",
        "secret": "secrets",
    }
    parts = []
    for label, sources in labels.items():
        shown = ", ".join(str(source) for source in sources[-3:])
        parts.append(f"{words.get(label, label)} ({shown})")
    text = f"the run has read {' and '.join(parts)}"
    if unnamed:
        text += f"; named by nobody here: {', '.join(repr(value)[:120] for value in unnamed[:3])}"
    return text


def visible_labels(run: RunContext) -> tuple[str, ...]:
    """Return the labels in view for a ticket, each with its source."""
    found = run.taint.sources_before(run.loop_state.visible_taint) if run.taint is not None else {}
    return tuple(f"{label}: {source}" for label, sources in found.items() for source in sources)


def record_approval(prepared: Prepared, run: RunContext, reach: str) -> None:
    """Widen an approval beyond the one call.

    Args:
        prepared: The call.
        run: Its run.
        reach: ``target``: calls of this tool to the same targets pass for this run; ``source``: what
            was read so far is trusted for this run.
    """
    taint = run.taint
    if taint is not None and reach == "target" and prepared.tool.effects.target:
        taint.targets.update(
            (prepared.tool.name, value) for value in collect_texts(target_arguments(prepared))
        )
    if taint is not None and reach == "source":
        taint.trusted.update(range(run.loop_state.visible_taint))


def may_follow(context: ToolContext, first: str, place: str, trusted: Iterable[str]) -> None:
    """Raise if a redirect leads to a place that the call would have needed approval for.

    Args:
        context: The call.
        first: The address it was made with, which was judged.
        place: Where it is led.
        trusted: Hosts that may receive any data.

    Raises:
        ToolError: Private data was read, and no trusted text mentions that place.
    """
    taint = context.run.taint
    if taint is None or host_of(place) == host_of(first):
        return
    found = taint.sources_before(len(taint.sources))
    if not found.keys() & {"private", "secret"} or are_trusted_hosts([place], tuple(trusted)):
        return
    if not is_named(place, list(trusted_texts(taint.root))):
        raise ToolError(
            f"To {place[:200]!r}, which nobody here has named, and this run has read private data: "
            "ask for that address itself, so that a person can be asked."
        )
