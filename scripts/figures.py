"""Print the figures of the code base: size, complexity and wording, for each distribution.

They report; they do not fail a build. ``--save`` writes them as the baseline beside which the next
ones are shown (docs/project/figures.json).
"""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path

from radon.complexity import cc_visit

from tests.gates.call_costs import call_costs
from tests.gates.house import code_lines
from tests.gates.sources import Module, modules

BASELINE = Path(__file__).resolve().parents[1] / "docs" / "project" / "figures.json"
CORE = (
    "toolkeel.define",
    "toolkeel.call",
    "toolkeel.agent",
    "toolkeel._common",
    "toolkeel._records",
)
NO_VERB = frozenset(
    [
        "the",
        "a",
        "an",
        "what",
        "whether",
        "one",
        "how",
        "who",
        "where",
        "when",
        "its",
        "it",
        "if",
        "those",
        "that",
        "all",
        "as",
        "of",
        "which",
        "by",
        "this",
        "each",
        "every",
        "some",
        "any",
        "no",
        "nobody",
        "for",
        "in",
        "is",
        "are",
        "and",
        "but",
        "to",
        "so",
        "them",
        "they",
        "these",
        "there",
        "with",
        "without",
        "from",
        "at",
        "on",
        "why",
        "like",
        "same",
    ]
)
"""First words of docstrings that are no imperative."""
DIALECT = frozenset(
    [
        "told",
        "said",
        "seen",
        "stands",
        "nobody",
        "whether",
        "whole",
        "kept",
        "held",
        "given",
        "going",
        "begun",
        "meant",
        "asks",
        "looks",
        "gone",
    ]
)
"""Words that show that the field has a better one."""


def docstrings(module: Module) -> list[str]:
    """Return the docstrings of a module's functions, without properties."""
    found = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_property = any("property" in ast.unparse(each) or "setter" in ast.unparse(each)
                              for each in node.decorator_list)  # fmt: skip
            if not is_property and (text := ast.get_docstring(node)):
                found.append(text)
    return found


def has_no_verb(docstring: str) -> bool:
    """Say if a docstring begins with a word that is no verb.

    >>> has_no_verb("Whether it is there."), has_no_verb("Return it.")
    (True, False)
    """
    first = re.match(r"\W*([A-Za-z']+)", docstring)
    return first is not None and first[1].lower() in NO_VERB


def measure(chosen: list[Module]) -> dict[str, float]:
    """Measure some modules."""
    texts = [text for module in chosen for text in docstrings(module)]
    lines = sum(module.text.count("\n") for module in chosen) or 1
    blocks = [block.complexity for module in chosen for block in cc_visit(module.text)]
    words = sum(
        word.lower() in DIALECT
        for module in chosen
        for word in re.findall("[A-Za-z]+", module.text)
    )
    return {
        "files": len(chosen),
        "lines of code": sum(code_lines(module) for module in chosen),
        "radon, mean": round(sum(blocks) / (len(blocks) or 1), 2),
        "docstrings without a verb, %": round(
            100 * sum(map(has_no_verb, texts)) / (len(texts) or 1), 1
        ),
        "dialect words in 1,000 lines": round(1000 * words / lines, 1),
    }


def figures() -> dict[str, dict[str, float]]:
    """Measure the core, each distribution, all of them, and the cost of a call."""
    every = list(modules())
    rows = {"core": [m for m in every if m.name.startswith(CORE)]}
    for package in ("toolkeel", "toolkeel_workspace", "toolkeel_studio", "toolkeel_compat"):
        rows[package] = [m for m in every if m.name.split(".")[0] == package]
    rows["all"] = every
    return {name: measure(chosen) for name, chosen in rows.items()} | {"a call": call_costs()}


def main(words: list[str]) -> None:
    """Print the figures, each with the baseline's beside it where it differs."""
    now = figures()
    before = json.loads(BASELINE.read_text("utf-8")) if BASELINE.is_file() else {}
    for name, row in now.items():
        print(name)
        for label, value in row.items():
            old = before.get(name, {}).get(label)
            print(
                f"  {label:<32}{value:>10,}"
                + (f"   (was {old:,})" if old not in (None, value) else "")
            )
    if "--save" in words:
        BASELINE.write_text(json.dumps(now, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
