"""Why tests of other libraries do not pass here: a reason for each, by what its failure says.

``python -m benchmarks.migration.reasons VERDICTS`` writes ``docs/project/own-tests.md`` from what
``own_tests --details VERDICTS`` has found. A failure that no reason fits is an error, so that none
is listed without one.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "project" / "own-tests.md"
PASSES = "passes"
Verdicts = Mapping[str, Mapping[str, tuple[str, str]]]

KINDS: Mapping[str, str] = {
    "insides": "asks for something the library keeps to itself: a private name, a module of its run loop, a test double of its own",
    "function_schema": "asks for `function_schema` and its pydantic model of the parameters; here a function's schema is `tool.parameters`",
    "nested history": "asks for the wrappers of `nest_handoff_history`, or that a history nested before is taken apart: it stays as it is",
    "model": "drives a model class built on the library's own base class (`BaseChatModel`); models here are `toolkeel.Model`, and `Scripted` in tests",
    "graph": "builds or steers a graph (`StateGraph`, `Send`, `goto`, channels, `RunnableLambda`); there are no graphs",
    "refused": "uses a name or an option that is not here and is refused by name",
    "at import": "its file could not be imported: a name above all tests in it is used while it is read, most often a model or graph class",
    "warnings": "wants a warning of the library's own",
    "allows": "wants a refusal that is not given here: the definition or the value is taken and works, or is answered to the model",
    "definition": "the definition is refused here when the tool is made, with what to write: a parameter without a schema, nothing to inject, a name that cannot be resolved",
    "told": "the model is told the same in other words: errors of calls are results here, written for the model to correct itself",
    "schema": "the schema says the same in other words: titles, `$defs` and defaults are written otherwise, or stricter",
    "shape": "reads an attribute, a type or a form of a result that is the library's own",
    "patch": "patches are held to the text exactly: a place that is not there, or there twice, is an error and not a guess",
    "time": "waits for what does not happen here, and is ended after 30 seconds",
}
"""What each kind of reason means."""

_MESSAGE: tuple[tuple[str, str], ...] = (
    ("time", r"Timeout \(>"),
    ("nested history", r"nest_handoff_history|conversation_history_wrapper|history_mapper"),
    ("function_schema", r"function_schema\.function_schema"),
    ("at import", r"^its file was not read|^collection failure"),
    ("model", r"BaseChatModel|GenericFakeChatModel|FakeToolCalling|FakeChatModel|chat_models|is no model,"),
    ("graph", r"StateGraph|\bSend\b|PARENT|goto|GraphBubbleUp|Runnable|no graph here|Pregel|ensure_config"),
    ("insides", r"absent[.(]|\._\w+ is not here|\._\w+'|invoke_function_tool|has no attribute '_|generated_items"
     r"|there is no '_?\w+' here|factory|internal_call|get_all_function_tools|ScriptedModel|fake_model"),
    ("refused", r"is not here|has no option '|unexpected keyword argument|cannot be changed here"
     r"|there is no option|has no '\w+'; write|interrupt_on"),
    ("insides", r"fixture '\w+' not found"),
    ("warnings", r"DID NOT WARN"),
    ("allows", r"DID NOT RAISE"),
    ("definition", r"DefinitionError|AnnotationError|InjectionError|SchemaError"),
    ("patch", r"patch does not fit|lines of a hunk"),
    ("told", r"Regex pattern|did not work|The argument|There is no|internal error|assert '[^']*' (==|in) "
     r"|assert \"|InvalidArguments|MalformedArguments|Crashed|Error invoking tool|was cancelled"),
    ("schema", r"\$ref|'propert|'title'|'description'|KeyError: '(required|quantity|value|description)'"
     r"|'parameters'|'type': |additionalProperties|json_schema|strict|'bar': |PydanticJsonSchema"),
    ("shape", r"has no (attribute|')|not subscriptable|not iterable|TypeError|KeyError|no message: "
     r"|missing \d+ required|\bassert\b|SetupError|OutputError|AssertionError|ValueError|ValidationError"
     r"|Can't pickle|ToolError|IndexError"),
)  # fmt: skip
"""By regular expression of the first line of a failure, the first that fits."""


def reason(test: str, message: str) -> str:
    """The kind of reason for which a test does not pass.

    Raises:
        LookupError: no reason fits.

    >>> reason("test_a", "Failed: DID NOT RAISE ValueError")
    'allows'
    """
    absent = re.search(r"[^\n]*(is not here|fixture ')[^\n]*", message)
    lines = [absent[0]] if absent else message.strip().splitlines()[:1]
    text = "\n".join([*lines, test if "nest_handoff" in test or "history" in test else ""])
    for kind, pattern in _MESSAGE:
        if re.search(pattern, text):
            return kind
    raise LookupError(f"{test}: no reason fits {lines}")


def page(verdicts: Verdicts) -> str:
    """The page: for each library its counts, then each test that does not pass."""
    return "\n".join([_HEAD, *_counts(verdicts), "", *_kinds(), *_tests(verdicts)])


_HEAD = """# Other libraries' own tests

Written by `python -m benchmarks.migration.reasons` from the verdicts of `benchmarks.migration.own_tests`, which fetches the libraries' source distributions, changes a copy of their unit tests for tools with `toolkeel migrate`, and runs them over `toolkeel_compat`. Only tests count that pass on the originals. Each that does not pass here is below, with the kind of its reason: what decides is the first line of its failure.
"""


def _counts(verdicts: Verdicts) -> Iterator[str]:
    yield "| library | tests | pass | do not |"
    yield "|---|---|---|---|"
    for library, seen in verdicts.items():
        passing = sum(verdict == PASSES for verdict, _ in seen.values())
        yield f"| {library} | {len(seen)} | {passing} | {len(seen) - passing} |"


def _kinds() -> Iterator[str]:
    yield "| reason | means that the test |"
    yield "|---|---|"
    for kind, text in KINDS.items():
        yield f"| {kind} | {text} |"


def _tests(verdicts: Verdicts) -> Iterator[str]:
    for library, seen in verdicts.items():
        failed = {test: reason(test, why) for test, (v, why) in seen.items() if v != PASSES}
        counts = Counter(failed.values())
        yield f"\n## {library}\n"
        yield ", ".join(f"{kind} {counts[kind]}" for kind in KINDS if counts[kind]) + ".\n"
        for test, kind in sorted(failed.items()):
            file, _, name = test.partition("::")
            yield f"- `{file.removeprefix('tests.')}` `{_plain(name)}`: {kind}"


def _plain(name: str) -> str:
    """A test's name; what identifies its parameters, cut."""
    return re.sub(r"[`|\s]+", " ", name)[:120]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(json.loads(Path(sys.argv[1]).read_text())) + "\n", "utf-8")


if __name__ == "__main__":
    main()
