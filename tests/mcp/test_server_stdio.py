"""Messages over pipes: what else is printed goes elsewhere, and the end is the end.

What a whole process does is in ``tests/cli/test_serve.py``.
"""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import asyncio, os, sys
from toolwright import tool
from toolwright.mcp.server import ToolServer
from toolwright.mcp.server_stdio import serve_stdio, take_stdout

assert take_stdout() == take_stdout()


@tool
def read() -> str:
    "Read stdin, which is not there for tools."
    return repr(sys.stdin.read())


print("before")
asyncio.run(serve_stdio(ToolServer([read])))
print("after")
"""


def start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def test_a_process_without_a_word_ends_with_its_stdin() -> None:
    with start() as process:
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out == "" and "before" in errors and "after" in errors


def test_blank_lines_and_noise_do_no_harm() -> None:
    call = (
        '{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "read",'
        ' "arguments": {}, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",'
        ' "io.modelcontextprotocol/clientCapabilities": {}}}}'
    )
    with start() as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"\n\n   \nnoise 猫\n{{}}\n[1]\n{call}\n")
        process.stdin.flush()
        answer = ""
        while '"id":2' not in answer:
            answer = process.stdout.readline()
            assert answer
        process.communicate(timeout=60)
    assert "''" in answer and process.returncode == 0
