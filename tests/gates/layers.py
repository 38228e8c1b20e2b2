"""The order of the library's files, and the imports that break it.

`CHAPTERS` is the order of reading and of importing: a file imports only from the chapters before
its own and, within its chapter, from the files before it. A new file is a new name in this table,
at the place where a reader should meet it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.gates.sources import PACKAGE, Module

# "*" stands for every file of the chapter that has no name here; those do not import each other.
CHAPTERS: dict[str, tuple[str, ...]] = {
    "words": (
        "_lazy_exports",
        "_common.nearest_names",
        "_common.word_index",
        "_records.record",
        "_records.record_json",
        "_common.redact_secrets",
        "_records.kept_results",
        "_records.tickets",
        "_records.taint_sources",
        "_common.path_patterns",
        "content",
        "messages",
        "errors",
        "_common.public_addresses",
        "_common.needs_extra",
        "_common.data_folder",
        "_records.used_tickets",
        "_common.other_libraries_words",
        "_common.checked_arguments",
        "_common.cancel",
        "_records.messages_json",
        "_records.entries",
        "_records.entries_json",
        "model_interface",
        "_records.recorder",
        "effects",
        "hosted",
        "events",
        "_common.reporter",
        "_common.unread_events",
        "spending",
        "context",
    ),
    "define": (
        "names",
        "nearly_right_names",
        "reading.docstring",
        "mutable_defaults",
        "inject",
        "reading.signature",
        "subschemas",
        "secret",
        "schema.json_schema",
        "explain.phrases",
        "explain.validation_errors",
        "explain.closest_branch",
        "explain.pydantic_errors",
        "schema.model_fields",
        "reading.annotations",
        "schema.canonical",
        "schema.closed_objects",
        "reading.parameter",
        "schema.known_types",
        "explain.flat_unions",
        "explain.mismatch",
        "explain.error_budget",
        "schema.gaps",
        "schema.annotation_schema",
        "schema.argument_schema",
        "schema.from_model",
        "returns",
        "explain.schema_limits",
        "schema.from_json_schema",
        "schema.foreign",
        "schema.pydantic_v1",
        "dialect.provider_facts",
        "dialect.normal_form",
        "dialect.merge",
        "dialect.conversion",
        "dialect.unions",
        "dialect.rewrite_rules",
        "dialect.compiler",
        "dialect",
        "dialect.definition",
        "import_definition",
        "compile",
        "executor_names",
        "options",
        "tool",
        "decorator",
        "no_tool",
        "base_tool",
        "output_type",
    ),
    "call": (
        "steps.compose",
        "body.tasks_left_behind",
        "body.stopped_text",
        "body.coroutine_deadline",
        "body.thread_pool",
        "body.run_in_thread",
        "body.model_interrupt",
        "body.sync_bridge",
        "arguments.strict_reparse",
        "arguments.parse",
        "arguments.partial",
        "arguments.coerce",
        "arguments.validate",
        "arguments.edits",
        "arguments.mask",
        "steps.shell_parser",
        "steps.command_patterns",
        "steps.rules",
        "steps.resources",
        "steps.named_by_person",
        "steps.taint",
        "steps.approve",
        "steps.call_limits",
        "steps.resource_conflicts",
        "steps.turn_order",
        "steps.cache",
        "steps.retry",
        "arguments.model_validators",
        "body.run_body",
        "truncate",
        "result_message",
        "failure_message",
        "steps.guard",
        "watchdog",
        "pipeline",
        "batch",
        "correction_counts",
        "compose_tool",
        "toolset",
        "tool_sources",
        "tool_search",
        "enabled_tools",
        "direct_invoke",
    ),
    "agent": (
        "reply_assembly",
        "streamed_calls",
        "bind_tools",
        "transcript",
        "transcript_media",
        "history",
        "output",
        "run_state",
        "session_interface",
        "prompt",
        "guardrail",
        "handoff",
        "turn.steps",
        "turn.model_fallback",
        "turn.redact_messages",
        "options",
        "plan",
        "turn.time_limit",
        "turn.read_result",
        "turn.request_budget",
        "turn.active_agent",
        "turn.model_caller",
        "turn.run_calls",
        "resume",
        "result",
        "loop",
        "run",
        "inner_agent",
        "agent",
    ),
    "providers": (
        "wire.plain_json",
        "wire.server_errors",
        "wire.sse",
        "wire.call_ids",
        "wire.media",
        "wire.reasoning_ownership",
        "wire.claude",
        "wire.structured_output",
        "wire.part_order",
        "wire.tools",
        "wire.decoder",
        "wire.request",
        "wire.turns",
        "wire.body_cache",
        "wire.stored_conversations",
        "wire.http",
        "wire.retry",
        "chat_servers",
        "wire.model",
        "openai_chat.call_pieces",
        "openai_chat.profile",
        "openai_chat.stream",
        "openai_chat.decode",
        "openai_chat.encode",
        "text_calls.forms",
        "text_calls.decoder",
        "text_calls",
        "grammar",
        "openai_chat",
        "wire.sdk_model",
        "wire.openai_client",
        "openai_chat.model",
        "openai_responses.profile",
        "openai_responses.native_calls",
        "openai_responses.stream",
        "openai_responses.decode",
        "openai_responses.encode",
        "openai_responses",
        "openai_responses.model",
        "gemini.profile",
        "gemini.stream",
        "gemini.decode",
        "gemini.encode",
        "gemini",
        "gemini.model",
        "anthropic.profile",
        "anthropic.stream",
        "anthropic.decode",
        "anthropic.encode",
        "anthropic",
        "anthropic.model",
        "bedrock.profile",
        "bedrock.stream",
        "bedrock.decode",
        "bedrock.encode",
        "bedrock",
        "bedrock.aws",
        "bedrock.model",
        "*",
        "offline.concepts",
        "offline.arithmetic",
        "offline.words",
        "offline.values",
        "offline.slots",
        "offline.text_to_replace",
        "offline.slot_fit",
        "offline.text",
        "offline.flags_and_options",
        "offline.fill",
        "offline.choose_tool",
        "offline.read_transcript",
        "offline.follow_ups",
        "offline.correct_call",
        "offline.sentences",
        "offline.answer",
        "offline.model",
        "offline",
        "discover",
        "default_model",
        "model_by_name",
        "prices",
    ),
    "mcp": (
        "messages",
        "content",
        "hosts",
        "variables",
        "server_entries",
        "config",
        "call_span",
        "consent_files",
        "hidden_text",
        "launch_files",
        "launch_facts",
        "consent",
        "pins",
        "client.mend_responses",
        "client.frames",
        "client.raw_requests",
        "client.end_orphans",
        "client.stdio",
        "client.proxies",
        "client.http",
        "client.token_storage",
        "client.browser",
        "client.oauth_flow",
        "client.login",
        "client.elicitation",
        "client.sampling_and_roots",
        "client.pages",
        "client.resource_subscriptions",
        "client.connection",
        "client.tool",
        "client.outcome",
        "client.resources_prompts",
        "client.mcp_server",
        "client",
        "named_servers",
        "server.multi_round_calls",
        "server.calling",
        "server.prompts_resources",
        "server.long_results",
        "server.structured",
        "server.snapshot",
        "server.calls",
        "server.sessions",
        "server.prometheus_metrics",
        "server.tool_server",
        "server.drain",
        "server.keep_alive",
        "server.http",
        "server.stdio",
        "server",
        "gateway.public_names",
        "gateway.audit",
        "gateway.policy",
        "gateway.ledger",
        "gateway.cache",
        "gateway.server_connection",
        "gateway.upstream",
        "gateway.routes",
        "gateway.changes",
        "gateway.approve",
        "gateway.calls",
        "gateway.raw_calls",
        "gateway.search",
        "gateway.gateway",
        "gateway.http",
        "gateway.reload",
        "gateway",
    ),
    "engines": (
        "sandbox.protected_files",
        "sandbox.secret_files",
        "sandbox.mounts",
        "sandbox.seccomp",
        "sandbox.stage",
        "supervise",
        "cgroup_pids",
        "sandbox.bubblewrap",
        "sandbox.landlock",
        "memory_used",
        "process_tree",
        "reachable_hosts",
        "proxy",
        "sandbox.network_gate",
        "sandbox.start_stage",
        "sandbox.command_limits",
        "sandbox.confine",
        "sandbox.escape_attempts",
        "sandbox.escape_probe",
        "sandbox",
        "decode_resize_worker",
        "isolated_decode",
        "executor",
        "local",
        "frames",
        "worker",
        "worker_request",
        "warm_pool",
        "process",
        "futures",
        "ray.node",
        "ray.cluster",
        "ray.executor",
        "ray",
        "*",
    ),
    "sessions": (
        "errors",
        "sql_tables",
        "sqlite",
        "artifacts",
        "sql_queries",
        "session_lock",
        "postgres",
        "tool_memory",
        "approval_desk",
        "journal_state",
        "checkpoint",
        "journal",
        "unknown_outcomes",
        "code_calls",
        "inbox",
        "history_policies",
        "run_from_journal",
        "session",
        "export",
        "sessions",
        "*",
    ),
    "observe": (
        "wording",
        "stats",
        "attribute_names",
        "content",
        "trace_links",
        "opentelemetry_spans",
        "notebook",
        "json_lines",
        "slow_listener",
    ),
    "testing": (
        "faults",
        "scripted",
        "cassette",
        "taped",
        "plugin",
    ),
    "durable": ("journaled", "engine", "durable"),
    "builtin": (
        "files.open_beneath",
        "files.line_window",
        "files.encodings",
        "files.linear_regex",
        "files.impossible_patterns",
        "files.walk",
        "files.ripgrep",
        "files.find",
        "files.grep",
        "files.atomic_replace",
        "files.similar_passage",
        "files.indentation",
        "files.edit",
        "files.changed_since_read",
        "pictures.too_large",
        "pictures.shrink",
        "files.preview",
        "files.file_tools",
        "shell.escape_codes",
        "shell.output_tail",
        "shell.git_identity",
        "shell.command",
        "files.workspace",
        "shell.local_shell",
        "files.apply_patch",
        "weather_fixture",
        "web.bounded_decompression",
        "web.service",
        "web.client",
        "search.hidden_html",
        "search.document_text",
        "web.search_backends",
        "search.split_words",
        "search.chunks",
        "search.filters",
        "search.embeddings",
        "search.stores",
        "search.vector_store",
        "search.postgres_store",
        "search.qdrant_store",
        "search.open_store",
        "search.ranking",
        "search.indexing",
        "code.code_limits",
        "code.tools",
        "code.folder",
        "code.monty",
        "code.kernel_sockets",
        "code.kernel",
        "computer.actions",
        "*",
        "search.by_name",
        "hosted_calls",
        "catalog",
        "hosted_mcp",
        "loading",
        "tools_in_module",
        "tools_by_place",
    ),
    "compat": (
        "missing",
        "check_options",
        "content_blocks",
        "langchain.names",
        "langchain.messages",
        "langchain.runtime",
        "langchain.store",
        "langchain.convert_tool",
        "langchain.history",
        "langchain.interrupts",
        "langchain.fields",
        "langchain.command",
        "langchain.tool_node",
        "langchain.chat_models",
        "langchain.middleware",
        "langchain.threads",
        "langchain.agent",
        "langchain.tools",
        "langchain.ready_middleware",
        "langchain",
        "openai_agents.names",
        "openai_agents.context",
        "openai_agents.exceptions",
        "openai_agents.tool_outputs",
        "openai_agents.items",
        "openai_agents.guardrails",
        "openai_agents.tools",
        "openai_agents.settings",
        "openai_agents.handoffs",
        "openai_agents.output",
        "openai_agents.models.custom_models",
        "openai_agents.models.requests",
        "openai_agents.models.scripted",
        "openai_agents.models.named",
        "openai_agents.models",
        "openai_agents.state",
        "openai_agents.result",
        "openai_agents.sessions",
        "openai_agents.hooks",
        "openai_agents.tracing",
        "openai_agents.run_lifecycle",
        "openai_agents.stream",
        "openai_agents.ready_tools.mcp_servers",
        "openai_agents.agent_tool",
        "openai_agents.agent",
        "openai_agents.run",
        "openai_agents.ready_tools.hosted",
        "openai_agents.ready_tools.shell",
        "openai_agents.ready_tools",
        "openai_agents",
        "bridges.run",
        "bridges.langchain",
        "bridges.openai_agents",
        "bridges.pydantic_ai",
        "bridges",
        "openapi.document",
        "openapi.request",
        "openapi.tools",
        "openapi",
        "*",
        "migrate",
    ),
    "inspector": (
        "session_view",
        "compare",
        "timeline",
        "alternatives",
        "forms",
        "site",
        "access_guard",
        "runs",
        "tool_pages",
        "server_pages",
        "session_pages",
        "desk_pages",
        "app",
    ),
    "cli": (
        "exit_codes",
        "terminal.text",
        "terminal.streams",
        "terminal.two_columns",
        "terminal.markdown",
        "terminal.interrupt",
        "arguments",
        "terminal.progress",
        "terminal.pictures",
        "terminal.reply",
        "terminal.keys",
        "terminal.approve",
        "terminal.consent",
        "chat.print_above_prompt",
        "chat.steering",
        "suspended_run",
        "http_workers",
        "commands.launch",
        "commands.call",
        "commands.tools",
        "commands.convert",
        "commands.approvals",
        "commands.serve",
        "commands.gateway",
        "commands.sessions",
        "doctor.section",
        "*",
        "commands.doctor",
        "main",
    ),
}
WORDS = CHAPTERS["words"]
# Side by side: none of these imports another.
SIBLINGS = ("providers", "mcp", "engines", "sessions", "observe", "testing")
# The package, its doors and the way in come after everything; nothing of the library imports them.
DOORS = ("approvals", "models", "runs", "schemas", "steps", "streaming", "tools")
LAST = (PACKAGE, f"{PACKAGE}.__main__", *(f"{PACKAGE}.{name}" for name in DOORS))
# The only files that may load a module of the library late; doors do so by `_lazy_exports.door`.
LATE = (
    PACKAGE,
    f"{PACKAGE}._lazy_exports",
    f"{PACKAGE}.define.compile",
    f"{PACKAGE}.define.executor_names",
    f"{PACKAGE}.define.explain.error_budget",
    f"{PACKAGE}.define.schema.argument_schema",
    f"{PACKAGE}.providers.model_by_name",
    f"{PACKAGE}.builtin.search.open_store",
    f"{PACKAGE}.cli.main",
    # Commands that live by an extra: without it they show their help, and tell its install line.
    *(f"{PACKAGE}.cli.commands.{name}" for name in ("gateway", "index", "inspect", "mcp", "serve")),
    f"{PACKAGE}.cli.worker",
)

Edges = dict[str, set[str]]


@dataclass(frozen=True, order=True)
class Import:
    """One import of a module of the library.

    Args:
        source: Dotted name of the importing module.
        target: Dotted name of the imported one.
        place: ``path:line``.
        late: Whether it happens inside a function or through importlib.
    """

    source: str
    target: str
    place: str
    late: bool


def violations(modules: Sequence[Module]) -> list[str]:
    """Every import that breaks the order, each as ``path:line: what is wrong``."""
    imports = sorted({found for each in modules for found in imports_of(each, modules)})
    rows = [row for module in modules for row in _unplaced(module)]
    rows += [row for module in modules for row in _lazy_attributes(module)]
    rows += [f"{i.place}: {reason}" for i in imports if (reason := _reason(i))]
    edges: Edges = {module.name: set() for module in modules}
    for found in imports:
        edges[found.source].add(found.target)
    rows += [f"cycle: {' -> '.join(cycle)}" for cycle in cycles(edges)]
    return rows


def imports_of(module: Module, modules: Sequence[Module]) -> Iterator[Import]:
    """Every import of the library in one module: open, late, or under TYPE_CHECKING."""
    known = {each.name for each in modules}
    late_nodes = _inside_functions(module.tree)
    for node in ast.walk(module.tree):
        for dotted, by_name in _targets(node, module):
            target = _existing(dotted, known)
            partial = by_name and target == PACKAGE and module.name in LATE
            if target and target != module.name and not partial:
                late = by_name or node in late_nodes
                yield Import(module.name, target, f"{module.path}:{_line(node)}", late)


def cycles(edges: Edges) -> list[list[str]]:
    """One walk in a circle for every group of modules that import each other."""
    found: list[list[str]] = []
    done: set[str] = set()

    def visit(name: str, trail: list[str]) -> None:
        if name in trail:
            found.append([*trail[trail.index(name) :], name])
            return
        if name in done:
            return
        for target in sorted(edges.get(name, ())):
            visit(target, [*trail, name])
        done.add(name)

    for name in sorted(edges):
        visit(name, [])
    return found


def chapter_of(name: str) -> str:
    """The chapter a module belongs to."""
    parts = name.split(".")[1:]
    is_word = bool(parts) and (parts[0] in WORDS or parts[0] in ("_common", "_records"))
    return "words" if is_word else parts[0] if parts else ""


def _reason(found: Import) -> str:
    """Why this import is not allowed; empty if it is."""
    source, target = found.source, found.target
    if found.late and source not in LATE:
        return f"{source} loads {target} late; only {', '.join(LATE)} may"
    if target in LAST and source not in LAST:
        return f"{source} imports {target}, which comes after everything"
    if source in LAST:
        return ""
    here, there = chapter_of(source), chapter_of(target)
    if here == there:
        return _reason_within(here, source, target)
    if here in SIBLINGS and there in SIBLINGS:
        return f"{source} imports {target}: {here} and {there} stand side by side"
    order = list(CHAPTERS)
    if here in order and there in order and order.index(there) > order.index(here):
        return f"{source} imports {target}: {there} comes after {here}"
    return ""


def _reason_within(chapter: str, source: str, target: str) -> str:
    before, after = _rank(chapter, target), _rank(chapter, source)
    if before < after or min(before, after) < 0:  # a file without a place has a row of its own
        return ""
    return f"{source} imports {target}, which does not come before it in {chapter}"


def _rank(chapter: str, name: str) -> int:
    """The place in the chapter's row; a chapter's ``__init__`` comes last, a folder's after its files."""
    row = CHAPTERS.get(chapter, ())
    parts = name.split(".")[1:]
    file = ".".join(parts if chapter == "words" else parts[1:])
    if not file:
        return len(row)
    within = [place for place, entry in enumerate(row) if entry.startswith(file + ".")]
    if within and file not in row:
        return max(within)
    return row.index(file) if file in row else row.index("*") if "*" in row else -1


def _unplaced(module: Module) -> Iterator[str]:
    """Say so if the table has no place for this module."""
    if module.name in LAST:
        return
    chapter = chapter_of(module.name)
    if chapter not in CHAPTERS:
        yield f"{module.path}: no chapter of this name in CHAPTERS (tests/gates/layers.py)"
    elif _rank(chapter, module.name) < 0:
        yield f"{module.path}: has no place in CHAPTERS[{chapter!r}] (tests/gates/layers.py)"


def _lazy_attributes(module: Module) -> Iterator[str]:
    """A module-level ``__getattr__`` is a late import in disguise; a door's is `door`'s."""
    for node in module.tree.body:
        is_lazy = isinstance(node, ast.FunctionDef) and node.name == "__getattr__"
        if is_lazy and module.name not in LATE:
            yield f"{module.path}:{_line(node)}: {module.name} loads late by __getattr__"


def _inside_functions(tree: ast.Module) -> set[ast.AST]:
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(node)
    }


def _targets(node: ast.AST, module: Module) -> Iterator[tuple[str, bool]]:
    """Dotted names that a node imports, and whether it does so by a string."""
    match node:
        case ast.Import(names=names):
            yield from ((alias.name, False) for alias in names)
        case ast.ImportFrom(module=base, names=names, level=level):
            start = _absolute(base or "", level, module)
            yield from ((f"{start}.{alias.name}", False) for alias in names)
        case ast.Call(func=func, args=[first, *_]) if _is_import_function(func):
            text = _leading_text(first)
            yield _absolute(text.lstrip("."), len(text) - len(text.lstrip(".")), module), True


def _absolute(base: str, level: int, module: Module) -> str:
    if not level:
        return base
    parts = module.name.split(".")
    start = parts[: len(parts) - level + module.is_package]
    return ".".join([*start, base] if base else start)


def _is_import_function(func: ast.expr) -> bool:
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    return name in ("import_module", "__import__")


def _leading_text(node: ast.expr) -> str:
    """The text a string begins with, as far as it stands in the source."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return text
        case ast.BinOp(left=left):
            return _leading_text(left)
        case _:
            return ""


def _existing(dotted: str, known: set[str]) -> str:
    """The longest part of a dotted name that is a module; empty if it is not ours."""
    while dotted:
        if dotted in known:
            return dotted
        dotted = dotted.rpartition(".")[0]
    return ""


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))
