"""Run programs after LangChain's and LangGraph's reference with their imports changed.

``python -m benchmarks.migration.langchain --original PYTHON``: ``PYTHON`` is an interpreter that has
``langchain``, ``langgraph`` and ``langchain-openai``. Each program of `chains` runs twice against a
scripted model, as it is and after `toolkeel migrate`. What was printed is compared, and what the
model was told: the wires may differ, so what was said, called and answered, and which tools there
were.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.migration.__main__ import run
from benchmarks.migration.compare import printed
from benchmarks.migration.server import Server
from toolkeel_compat.migrate import migrate

CHAINS = Path(__file__).parent / "chains"


def told(body: dict[str, Any]) -> Any:
    """What a request of either wire tells the model.

    >>> told({"instructions": "Be kind.", "input": "hi"})["said"]
    [['system', 'Be kind.'], ['user', 'hi']]
    """
    given = body.get("input") or body.get("messages") or []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
    if body.get("instructions"):
        items = [{"role": "system", "content": body["instructions"]}, *items]
    said = [entry for item in items for entry in _said(item)]
    tools = [tool.get("function", tool) for tool in body.get("tools") or ()]
    shown = sorted(
        [one.get("name"), one.get("description") or "", sorted(_names(one))] for one in tools
    )
    return {"said": said, "tools": shown}


def _names(tool: dict[str, Any]) -> Any:
    return (tool.get("parameters") or {}).get("properties") or ()


def _said(item: dict[str, Any]) -> list[list[str]]:
    """One item as what was said, called or answered."""
    if item.get("type") == "function_call":
        return [["call", item["name"], _canonical(item["arguments"])]]
    if item.get("type") == "function_call_output":
        return [["result", _text(item["output"])]]
    if item.get("role") == "tool":
        return [["result", _text(item["content"])]]
    text = _text(item.get("content"))
    made = [[str(item.get("role")).replace("developer", "system"), text]] if text else []
    for call in item.get("tool_calls") or ():
        function = call["function"]
        made.append(["call", function["name"], _canonical(function["arguments"])])
    return made


def _canonical(arguments: str) -> str:
    return json.dumps(json.loads(arguments or "{}"), sort_keys=True)


def _text(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    return "".join(str(part.get("text", "")) for part in content)


def main() -> None:
    """Migrate, run both, and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--original", default=sys.executable, help="a Python with the original")
    options.add_argument("--folder", type=Path, default=Path(".cache/migration-langchain"))
    options.add_argument("--only", default="", help="programs whose name has this text")
    options.add_argument("--details", type=Path, help="write all that was seen here, as JSON")
    given = options.parse_args()
    roots = {mark: given.folder.resolve() / mark for mark in ("theirs", "ours")}
    for mark, root in roots.items():
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(CHAINS, root / "chains")
        for path in (root / "chains").glob("*.py") if mark == "ours" else ():
            path.write_text(migrate(path.read_text()).source)
    names = sorted(path.stem for path in CHAINS.glob("*.py") if path.stem != "__init__")
    chosen = [name for name in names if given.only in name]
    server = Server()

    def both(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        seen = {}
        for mark, python in (("theirs", given.original), ("ours", sys.executable)):
            path = roots[mark] / "chains" / f"{name}.py"
            seen[mark] = run(server, python, roots[mark], path, mark)
        return seen["theirs"], seen["ours"]

    with ThreadPoolExecutor(2) as pool:
        pairs = dict(zip(chosen, pool.map(both, chosen), strict=True))
    if given.details:
        given.details.write_text(json.dumps(pairs))
    print("| program | original runs | runs | told the same | same output |\n|---|---|---|---|---|")
    equal = 0
    for name, (theirs, ours) in pairs.items():
        same = [told(body) for body in theirs["sent"]] == [told(body) for body in ours["sent"]]
        marks = [theirs["code"] == 0, ours["code"] == 0, same]
        marks.append(printed(theirs["out"]) == printed(ours["out"]))
        equal += all(marks)
        print(f"| {name} | {' | '.join('yes' if mark else 'no' for mark in marks)} |")
    print(f"\n{len(pairs)} programs, {equal} run equal ({equal / max(len(pairs), 1):.0%})")


if __name__ == "__main__":
    main()
