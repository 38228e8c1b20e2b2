"""Information flow: after private data and a stranger's text, calls that go outside need approval.

Theory of operation. A page, a file or a mail can tell the model to send what it has read to somebody.
So tools whose results are private, untrusted or secret leave labels on the run, and a call is judged
by the labels that the model request behind it had in view.

1. Sources. `label_sources` records what was read, and keeps it with a saved transcript.
2. View. `RunContext.loop_state.visible_taint` is the number of sources when the request was sent. The
   calls of one turn do not taint each other: their request was sent before their results.
3. Judgement. `approval_reason` returns why a call needs approval. A tool that only computes or reads
   inside, or whose changes stay inside and can be undone, never does, except for a file that the next
   build executes. One that acts does after a stranger's text; one that only reads outside does if there
   is private data besides, such as the prompt, which it could carry out in its address. After a secret,
   both do. A call does not if every target was approved before in this run, is at a trusted host, or,
   without a secret, was mentioned by the user or a trusted result (`mentioned_targets`).
4. Approval. `record_approval` widens a yes: to the same target or host, to the same server, or to the
   sources read so far.

::

    clean --a labelled tool ran--> labelled, not yet in view
                                        | next model request
                                        v
                                   in view --call goes outside--> target mentioned? --yes--> runs
                                        ^                              | no
                                        |                              v
                                        +--"trust this source"-- person is asked --no--> denied

Labels only grow within a run, and cross into inner runs and sessions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from toolkeel._records.taint_sources import CALLER, FILES, Permit, Source, Taint
from toolkeel.call.steps.addresses import (
    are_trusted_hosts,
    find_addresses,
    host_of,
    split_recipients,
)
from toolkeel.call.steps.label_sources import ORIGIN, TRUSTED, origin_of
from toolkeel.call.steps.mentioned_targets import (
    is_named,
    target_texts,
    trusted_texts,
    unmentioned_targets,
)
from toolkeel.call.steps.resources import resource_keys
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.subschemas import properties_of
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.effects import UNKNOWN
from toolkeel.errors import DefinitionError, ToolError
from toolkeel.messages import UserMessage

OWN_RESULTS = "believes_own_results"
"""Key of a tool's metadata: True if results of its own server never make it ask; ``reads``, if only those
of its tools that read do not."""
BUILDS = "builds"
"""Key of a tool's metadata: of a path, says by which pattern the next build runs it, if it does."""
SECRET, SERVICE = "secret ", "*"
"""The begin of a permitted target that was approved after a secret; and the target of a tool that names none."""
_HOST = re.compile(r"[\w-]\.[a-z]{2}", re.IGNORECASE)
_Labels = dict[str, list[Source]]


def can_act(tool: AnyTool) -> bool:
    """Return True if a taint label can matter to a tool: it reaches outside, or changes what is not `is_local` or is built."""
    effects = tool.effects
    if set(effects.safe_after) >= {"private", "stranger", "secret"}:
        return False
    if BUILDS in tool.metadata:
        return True
    return effects.open_world or not (effects.read_only or is_local(tool))


def is_local(tool: AnyTool) -> bool:
    """Return True if a tool's changes stay inside and can be undone."""
    effects = tool.effects
    files = [str(key).startswith("file:") for key in effects.resources]
    return not effects.open_world and (not effects.destructive or (bool(files) and all(files)))


def check_target(tool: AnyTool) -> None:
    """Raise unless the parameters that a tool names as its target exist.

    Raises:
        DefinitionError: one does not.
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
        allowed: True if the program explicitly allows the call (`is_allowed`). Then only changes to
            files that the next build executes need approval.
    """
    taint, tool = run.taint, prepared.tool
    if taint is None or not can_act(tool):
        return ""
    labels = _labels_for(tool, taint, run.loop_state.visible_taint)
    if is_local(tool):  # asks for what it changes alone
        return _builds(prepared, labels)
    if allowed or not _matters(tool, taint, labels):
        return ""
    return _asks(prepared, taint, labels)


def _labels_for(tool: AnyTool, taint: Taint, seen: int) -> _Labels:
    """Return the visible labels that matter to a tool, each with its sources.

    Attachments of the caller do not count for the program's functions that are not declared to reach
    out. Results of a server do not count for its own tools if it is trusted or approved for this run.
    Files of a folder are not a stranger's for other files of it.
    """
    ignored: set[str] = set()
    if _believes_own(tool, taint):
        ignored.add(origin_of(tool))
    if "mcp" not in tool.metadata and (tool.effects == UNKNOWN or not tool.effects.open_world):
        ignored.add(CALLER)
    if is_local(tool) or "private" in tool.effects.safe_after:
        ignored.add(FILES)
    kept = {
        label: [source for source in sources if source.origin not in ignored]
        for label, sources in taint.sources_before(seen).items()
        if label not in tool.effects.safe_after
    }
    return {label: sources for label, sources in kept.items() if sources}


def _believes_own(tool: AnyTool, taint: Taint) -> bool:
    """Return True if results of a tool's own server do not require approval of its calls."""
    origin, own = origin_of(tool), tool.metadata.get(OWN_RESULTS)
    believes = own is True or (own == "reads" and tool.effects.read_only)
    return bool(origin) and (believes or origin in taint.servers)


def _matters(tool: AnyTool, taint: Taint, labels: _Labels) -> bool:
    """Return True if a tool that goes outside needs approval under these labels.

    A tool declared safe after one of private data and strangers' text is judged by the other alone.
    """
    if "secret" in labels:
        return True
    if "stranger" in tool.effects.safe_after:
        return "private" in labels
    if "stranger" not in labels:
        return False
    if not tool.effects.read_only or "private" in labels:
        return True
    return "private" not in tool.effects.safe_after and _has_prompt(taint)


def _has_prompt(taint: Taint) -> bool:
    """Return True if there is a person's prompt, which is private."""
    return any(isinstance(message, UserMessage) for message in taint.root.transcript)


def _asks(prepared: Prepared, taint: Taint, labels: _Labels) -> str:
    """Return why these labels require approval of a call that goes outside, or ""."""
    tool, secret = prepared.tool, "secret" in labels
    values = target_texts(prepared)
    if are_trusted_hosts(values, tool.metadata.get(TRUSTED)):
        return ""
    approved = {v for v in values if _is_approved(tool, v, taint, secret)}
    if _is_service(tool) and (tool.name, f"{SECRET * secret}{SERVICE}") in taint.targets:
        approved |= {v for v in values if not find_addresses(v) and not _HOST.search(v)}
    if values and approved.issuperset(values):
        return ""
    strange: list[str] = []
    if tool.effects != UNKNOWN and "secret" not in labels:
        strange = unmentioned_targets(prepared, values, approved, taint)
        if not strange and values:
            return ""
    return _why(labels, strange)


def _approvable(tool: AnyTool, value: str, secret: bool = False) -> set[tuple[str, str]]:
    """Return the pairs of tool and target under which an approval of a target is stored.

    For a tool that only reads, an approval of an address covers its host. One that was given before the
    run read a secret does not count after that.
    """
    mark, host = SECRET * secret, host_of(value) if tool.effects.read_only else ""
    found = {(tool.name, f"{mark}{value}")}
    return found | {(tool.name, f"{mark}//{host}")} if host else found


def _is_approved(tool: AnyTool, value: str, taint: Taint, secret: bool) -> bool:
    """Return True if a person approved a target, or each address of a list of recipients."""
    if not _approvable(tool, value, secret).isdisjoint(taint.targets):
        return True
    each = split_recipients(value)
    return bool(each) and all(
        not _approvable(tool, one, secret).isdisjoint(taint.targets) for one in each
    )


def _is_service(tool: AnyTool) -> bool:
    """Return True if a tool reads from a service that no parameter names, such as a search."""
    return tool.effects.read_only and tool.effects.open_world and not tool.effects.target


def _builds(prepared: Prepared, labels: _Labels) -> str:
    """Return why a change to a file that the next build executes needs approval, or ""."""
    part: Any = prepared.tool.metadata[BUILDS]
    found = next(filter(None, map(part, resource_keys(prepared))), "")
    if not found or "stranger" not in labels:
        return ""
    return f"{_why({'stranger': labels['stranger']}, ())}, and the next build runs {found!r}"


def _why(labels: Mapping[str, Sequence[Source]], unnamed: Sequence[str]) -> str:
    """Return why a call is dangerous: what the run has read, and targets that were not named."""
    words = {"private": "private data", "stranger": "a stranger's text", "secret": "secrets"}
    parts: dict[str, list[str]] = {}
    for label, sources in labels.items():
        shown = ", ".join(dict.fromkeys(str(source) for source in sources[-3:]))
        parts.setdefault(shown, []).append(words.get(label, label))
    read = (f"{' and '.join(what)} ({shown})" for shown, what in parts.items())
    text = f"the run has read {' and '.join(read)}"
    if unnamed:
        text += f"; named by nobody here: {', '.join(repr(value)[:120] for value in unnamed[:3])}"
    return text


def words_to_allow(prepared: Prepared) -> str:
    """Return a line for the person: what to write so that labels never require approval of this tool."""
    tool = prepared.tool
    if is_local(tool):
        return 'No rule allows this. To trust what the run has read so far: approve("source")'
    rule = f"rules=Rules(allow=[{tool.name!r}])"
    if TRUSTED in tool.metadata:
        hosts = [host for host in map(host_of, target_texts(prepared)) if host]
        if hosts:
            return f"To allow this host: fetch_tool(trusted=[{hosts[0]!r}]); any host: {rule}"
    if tool.function is not None and tool.effects == UNKNOWN and ORIGIN not in tool.metadata:
        return f"To allow this tool: @tool(approval=False), or {rule}"
    return f"To allow this tool: {rule}"


def visible_labels(run: RunContext) -> tuple[str, ...]:
    """Return the untrusted sources in view, each once as ``label: source``, for a ticket."""
    found = run.taint.sources_before(run.loop_state.visible_taint) if run.taint is not None else {}
    texts = (f"{label}: {source}" for label, sources in found.items() for source in sources)
    return tuple(dict.fromkeys(texts))


def record_approval(prepared: Prepared, run: RunContext, reach: str) -> None:
    """Store an approval that extends beyond one call, in the run's taint and journal.

    Args:
        prepared: The call.
        run: Its run.
        reach: ``target``: later calls of this tool to the same targets, or hosts if it only reads, or to
            the service that it reads from;
            ``server``: calls of tools of the same server; ``source``: the sources read so far.
    """
    store_permits(_permits(prepared, run, reach), run)


def store_permits(permits: Iterable[Permit], run: RunContext) -> None:
    """Store permits in the run's taint and journal."""
    for permit in permits:
        run.get_taint().permit(permit)
        if run.recorder is not None:
            run.recorder.record_permit(permit)


def _permits(prepared: Prepared, run: RunContext, reach: str) -> Iterator[Permit]:
    """Yield the permits that would allow this call: by server, by target, or by source."""
    tool, taint = prepared.tool, run.taint
    if reach == "server" and (origin := origin_of(tool)):
        yield Permit("server", "", origin)
    if taint is not None and reach == "target":
        secret = "secret" in taint.sources_before(run.loop_state.visible_taint)
        values = target_texts(prepared) if tool.effects.target else ()
        for value in (each for one in values for each in (one, *split_recipients(one))):
            yield from (Permit("target", *pair) for pair in _approvable(tool, value, secret))
        if _is_service(tool):
            yield Permit("target", tool.name, f"{SECRET * secret}{SERVICE}")
    if taint is not None and reach == "source":
        for source in dict.fromkeys(taint.sources[: run.loop_state.visible_taint]):
            yield Permit("source", source.label, source.to_text())


def server_of(tool: AnyTool) -> str:
    """Return the name of a tool's MCP server, if its approval can be extended to it; else ""."""
    known: Any = tool.metadata.get("mcp")
    return str(known.get("server", "")) if origin_of(tool) and isinstance(known, Mapping) else ""


def is_server_approved(run: RunContext, origin: str) -> bool:
    """Return True if a person approved the calls of a server's tools for this run."""
    return run.taint is not None and origin in run.taint.servers


def may_follow(context: ToolContext, first: str, place: str, trusted: Iterable[str]) -> None:
    """Raise if a redirect leads to an address that the call would have needed approval for.

    Args:
        context: The call.
        first: The address that was approved.
        place: The address that the redirect leads to.
        trusted: Hosts that may receive any data.

    Raises:
        ToolError: The run has read data that a redirect could send out, and no trusted text mentions
            that address.
    """
    taint = context.run.taint
    if taint is None or host_of(place) == host_of(first):
        return
    found = taint.sources_before(len(taint.sources))
    risky = "secret" in found or (
        "stranger" in found and ("private" in found or _has_prompt(taint))
    )
    if not risky or are_trusted_hosts([place], tuple(trusted)):
        return
    mark = SECRET * ("secret" in found)
    if (context.tool_name, f"{mark}//{host_of(place)}") in taint.targets:
        return
    if not is_named(place, list(trusted_texts(taint.root))):
        raise ToolError(
            f"To {place[:200]!r}, which nobody here has named, and this run has read private data: "
            "ask for that address itself, so that a person can be asked."
        )
