"""The command line of the protocol's own Inspector against ``toolkeel serve``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.shared import ROOT, node_command

pytestmark = pytest.mark.slow
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
TOOLS = '''
from typing import Literal
from pydantic import BaseModel


class Weather(BaseModel):
    """How it is."""

    city: str
    celsius: float


async def weather(city: str, unit: Literal["celsius", "kelvin"] = "celsius", days: int = 1) -> Weather:
    """Look up the weather.

    Args:
        city: Where.
    """
    return Weather(city=city, celsius=20.5)
'''


def inspect(folder: Path, era: str, *words: str) -> Any:
    """What the Inspector prints on a method, as data."""
    file = folder / "tools.py"
    file.write_text(TOOLS, "utf-8")
    server = [sys.executable, "-m", "toolkeel", "serve", str(file)]
    path = f"PYTHONPATH={os.environ.get('PYTHONPATH') or ROOT / 'src'}"
    done = subprocess.run(
        [*node_command(INSPECTOR), "--cli", *server, "--protocol-era", era, "-e", path,
         "--format", "json", "--connect-timeout", "90000", *words],
        capture_output=True, text=True, timeout=240,
        env={**os.environ, "HOME": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "portability" not in done.stderr.lower(), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_it_lists_without_a_word_of_complaint_calls_and_finds_no_error_under_load(
    tmp_path: Path, era: str
) -> None:
    listed = inspect(tmp_path, era, "--method", "tools/list", "--strict")
    [tool] = listed["result"]["tools"]
    assert tool["name"] == "weather" and tool["outputSchema"]["type"] == "object"
    words = ["--method", "tools/call", "--tool-name", "weather"]
    arguments = ["--tool-args-json", '{"city": "北京"}']
    called = inspect(tmp_path, era, *words, *arguments)
    assert called["result"]["structuredContent"] == {"city": "北京", "celsius": 20.5}
    load = inspect(tmp_path, era, *words, *arguments, "--load", "--load-requests", "300")
    assert (load["result"]["ok"], load["result"]["errors"]) == (300, 0)
