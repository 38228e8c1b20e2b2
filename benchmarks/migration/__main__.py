"""Run the Agents SDK's own examples with their imports changed, beside the original.

``python -m benchmarks.migration --original PYTHON`` fetches the original's source distribution
from the package index, changes a copy of its examples with `toolkeel migrate`, runs each program
twice against a scripted model, and prints which names resolve, which run, and which send the same
requests and print the same. ``PYTHON`` is an interpreter that has the original installed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.migration.compare import asked, printed
from benchmarks.migration.fetching import fetch
from benchmarks.migration.server import Server
from toolkeel_compat.migrate import migrate

DISTRIBUTION = "openai-agents==0.24.0"
LEFT_OUT = ("realtime", "voice", "sandbox")
SECONDS = 60
SEEDED = Path(__file__).parent / "seeded"
"""Holds what Python reads when it starts: both programs then draw the same numbers."""


def programs(root: Path) -> list[Path]:
    """The examples that import the library."""
    every = sorted((root / "examples").rglob("*.py"))
    kept = [p for p in every if not set(p.relative_to(root).parts) & set(LEFT_OUT)]
    return [path for path in kept if imported(path.read_text())]


def imported(text: str) -> list[tuple[str, str]]:
    """Modules and names that a program imports from the library."""
    return [
        (str(node.module), alias.name)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        and not node.level
        and str(node.module).split(".")[0] == "agents"
        for alias in node.names
    ]


def unresolved(text: str) -> list[str]:
    """Names of the library that have no counterpart: those for which a file stays as it is."""
    left = (note.text.partition(":")[0] for note in migrate(text).notes if note.blocks)
    return sorted({name.rpartition(".")[2] for name in left})


def migrated(root: Path, to: Path) -> Path:
    """A copy of the examples with their imports changed."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(root / "examples", to / "examples")
    for path in programs(to):
        path.write_text(migrate(path.read_text()).source)
    return to


def run(server: Server, python: str, root: Path, path: Path, mark: str) -> dict[str, Any]:
    """Run one program to its end: exit code, output, what it sent."""
    module = ".".join(path.relative_to(root).with_suffix("").parts)
    name = f"{mark}-{module}"
    url = server.url(name)
    variables = {
        "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "EXAMPLES_INTERACTIVE_MODE": "auto",
        "EXAMPLE_BASE_URL": url, "EXAMPLE_API_KEY": "none", "EXAMPLE_MODEL_NAME": "gpt-test",
        "OPENAI_AGENTS_DISABLE_TRACING": "1", "PYTHONPATH": f"{root}:{SEEDED}", "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
    }  # fmt: skip
    work = root / "work" / name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    process = subprocess.Popen(
        [python, "-m", module],
        cwd=work,
        env={**os.environ, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate("hello\n" * 3 + "exit\n", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        err += "\ntimed out"
    return {"code": process.returncode, "out": out, "err": err[-4000:], "sent": server.sent(name)}


def row(theirs: dict[str, Any], ours: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """One line of the table."""
    same_sent = asked(theirs["sent"]) == asked(ours["sent"])
    return {
        "missing": names,
        "original": theirs["code"] == 0,
        "runs": ours["code"] == 0,
        "requests": same_sent,
        "output": printed(theirs["out"]) == printed(ours["out"]),
    }


def table(rows: dict[str, dict[str, Any]]) -> Iterable[str]:
    """The table, in Markdown."""
    yield "| example | names | original runs | runs | same requests | same output |"
    yield "|---|---|---|---|---|---|"
    for name, one in sorted(rows.items()):
        marks = ["yes" if one[key] else "no" for key in ("original", "runs", "requests", "output")]
        yield f"| {name} | {', '.join(one['missing']) or 'all'} | {' | '.join(marks)} |"
    equal = [one for one in rows.values() if all(one[k] for k in ("runs", "requests", "output"))]
    yield ""
    yield (
        f"{len(rows)} examples: {sum(not one['missing'] for one in rows.values())} find their "
        f"names, {sum(one['runs'] for one in rows.values())} run, {len(equal)} run equal; the "
        f"original itself runs {sum(one['original'] for one in rows.values())} here."
    )


def main() -> None:
    """Fetch, migrate, run, print."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.migration", description=__doc__)
    options.add_argument("--original", default=sys.executable, help="a Python with the original")
    options.add_argument("--folder", type=Path, default=Path(".cache/migration"))
    options.add_argument(
        "--only",
        default="",
        help="examples whose path has this text, or one of several with commas",
    )
    options.add_argument("--names", action="store_true", help="look at names alone, run nothing")
    options.add_argument("--details", type=Path, help="write all that was seen here, as JSON")
    given = options.parse_args()
    root = fetch(given.folder.resolve(), DISTRIBUTION)
    chosen = [p for p in programs(root) if any(t in str(p) for t in given.only.split(","))]
    missing = {path: unresolved(path.read_text()) for path in chosen}
    if given.names:
        for path in chosen:
            print(path.relative_to(root), *missing[path])
        print(f"{sum(not names for names in missing.values())} of {len(chosen)} find their names")
        return
    ours, server = migrated(root, given.folder.resolve() / "migrated"), Server()
    kept = given.folder / "original.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}

    def both(path: Path) -> tuple[str, dict[str, Any], dict[str, Any]]:
        name = str(path.relative_to(root / "examples"))
        if name not in known:
            known[name] = run(server, given.original, root, path, "theirs")
            kept.write_text(json.dumps(dict(known)))  # so that a stopped run goes on from here
        here = ours / path.relative_to(root)
        return name, known[name], run(server, sys.executable, ours, here, "ours")

    with ThreadPoolExecutor(2) as pool:
        seen = {name: (theirs, mine) for name, theirs, mine in pool.map(both, chosen)}
    if given.details:
        given.details.write_text(json.dumps(seen))
    lost = {str(path.relative_to(root / "examples")): names for path, names in missing.items()}
    rows = {name: row(*pair, lost[name]) for name, pair in seen.items()}
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
