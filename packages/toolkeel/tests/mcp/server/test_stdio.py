"""Messages over pipes: what else is printed goes elsewhere, and the end is the end.

What a whole process does is in ``packages/toolkeel-studio/tests/cli/commands/test_serve.py``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

PROGRAM = """
import asyncio, os, sys
from toolkeel import tool
from toolkeel.mcp.server.tool_server import ToolServer
from toolkeel.mcp.server.stdio import claim_stdout, serve_stdio

assert claim_stdout() == claim_stdout()


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
        answers = [""]
        while '"id":2' not in answers[-1]:
            answers.append(process.stdout.readline())
            assert answers[-1]
        _, errors = process.communicate(timeout=60)
    assert "''" in answers[-1] and process.returncode == 0
    codes = [json.loads(line)["error"]["code"] for line in answers[1:-1]]
    assert codes == [-32700, -32600, -32600]
    assert errors.count("a message cannot be read") == 3


@pytest.mark.parametrize(
    ("line", "code", "id"),
    [
        ("{", -32700, None),
        ('{"jsonrpc": "2.0", "id": 7, "method": 5}', -32600, 7),
        ('{"jsonrpc": "1.0", "id": "a", "method": "ping"}', -32600, "a"),
        ('{"id": true, "method": "ping"}', -32600, None),
        *(
            (f'{{"jsonrpc": "2.0", "id": {id}, "method": "tools/list"}}', -32600, None)
            for id in ("null", "1.5", "true", "[1]")
        ),
        ('{"jsonrpc": "2.0", "method": 5}', None, None),
    ],
)
def test_a_request_that_cannot_be_read_gets_its_error(line: str, code: Any, id: Any) -> None:
    with start() as process:
        out, errors = process.communicate(line + "\n", timeout=60)
    assert "a message cannot be read" in errors
    if code is None:  # a notification is never answered
        assert out == ""
    else:
        said = json.loads(out)
        assert (said["error"]["code"], said["id"]) == (code, id)
