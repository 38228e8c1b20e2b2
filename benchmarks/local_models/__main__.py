"""Compare ways of calling tools with one model on this machine, over sixty questions.

    toolkeel local MODEL.gguf --ctx 4096
    python -m benchmarks.local_models --model llamacpp:NAME [--python PEERS] [--cases FILE]

Each question is one request at temperature 0. With ``--python``, an interpreter that has
``langchain-openai`` and ``openai-agents``, their clients ask the same server; their calls are judged
like ours. Prints the table of docs/local-models.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.local_models.peers import Calls
from benchmarks.local_models.tools import TOOLS
from toolkeel import AssistantMessage, Settings, ToolCall, Toolset
from toolkeel.models import connect
from toolkeel.testing import Scripted
from toolkeel_studio.evals.case_file import read_cases
from toolkeel_studio.evals.cases import Case, resolve_cases
from toolkeel_studio.evals.report import Row, make_row
from toolkeel_studio.evals.trials import Conditions, Subject, Trial, run_trials

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).with_name("cases.yaml")
WAYS = ("native", "text", "grammar")
PEERS = {"langchain": "LangChain's `ChatOpenAI`", "agents": "OpenAI Agents SDK"}


async def ask_ours(cases: list[Case], model: str, url: str, way: str, tools: Toolset) -> Row:
    """Ask a model the questions, in one way of calling."""
    settings = Settings(temperature=0, max_tokens=200)
    subject = Subject(connect(model, calls=way, base_url=url), f"toolkeel, `{way}`")
    conditions = Conditions(tools, max_turns=1, settings=settings)
    return show(await run_trials(cases, [subject], conditions, finished=note), subject.name)


async def judge_peer(cases: list[Case], read: list[Calls], name: str, tools: Toolset) -> Row:
    """Judge calls that another client read as if a model had made them here."""
    trials = []
    for case, calls in zip(cases, read, strict=True):
        made = tuple(ToolCall(str(n), *call) for n, call in enumerate(calls))
        subject = Subject(Scripted([AssistantMessage("" if made else "no call", made)]), name)
        trials += await run_trials([case], [subject], Conditions(tools, max_turns=1))
    return show(trials, name)


def ask_peer(python: str, peer: str, url: str, model: str, cases: list[Case]) -> list[Calls]:
    """Ask the server through another library, in a process of its interpreter."""
    words = [python, "-m", "benchmarks.local_models.peers", peer, url, model]
    questions = json.dumps([case.question for case in cases])
    done = subprocess.run(words, input=questions, text=True, capture_output=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"{peer}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def note(trial: Trial) -> None:
    """Write what came of a question to stderr."""
    print(trial.model, trial.case, *trial.made, trial.why, trial.error, file=sys.stderr, flush=True)


def show(trials: list[Trial], name: str) -> Row:
    """Return the figures, after a line of them: a long comparison shows how far it is."""
    row = make_row(name, "", trials)
    print(row, file=sys.stderr, flush=True)
    return row


def make_table(rows: list[Row], asked: int) -> str:
    """Return the figures as Markdown."""
    lines = [
        f"| {asked} questions | calls | valid | right tool or none | right arguments, too |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.model} | {row.made} | {row.valid} | {row.right_tool} | {row.right_arguments} |"
        for row in rows
    ]
    return "\n".join(lines)


async def main() -> None:
    """Ask in each way, and print the table."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.local_models", description=__doc__)
    options.add_argument("--model", required=True)
    options.add_argument("--url", default="http://127.0.0.1:8080/v1")
    options.add_argument("--python", help="interpreter with the other libraries")
    options.add_argument("--cases", default=str(CASES))
    given = options.parse_args()
    tools = Toolset(TOOLS)
    cases = resolve_cases(read_cases(given.cases), tools, given.cases)
    rows = [await ask_ours(cases, given.model, given.url, way, tools) for way in WAYS]
    for peer, name in PEERS.items() if given.python else ():
        plain = given.model.partition(":")[2]
        read = ask_peer(given.python, peer, given.url, plain, cases)
        rows.append(await judge_peer(cases, read, name, tools))
    print(make_table(rows, len(cases)))


if __name__ == "__main__":
    asyncio.run(main())
