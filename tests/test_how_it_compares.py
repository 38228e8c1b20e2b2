"""What the page says of other libraries is what they do, in the versions that it names."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata

import pytest

from tests.shared import ROOT, cannot_run

PAGE = (ROOT / "docs" / "how-it-compares.md").read_text("utf-8")
VERSIONS = dict(
    re.findall(
        r"(langgraph|openai-agents|pydantic-ai) (\d[\d.]+\d)", PAGE.partition("<!-- table")[0]
    )
)


@pytest.mark.slow
def test_the_table_of_behaviour_is_what_its_script_prints() -> None:
    for name, version in VERSIONS.items():
        package = "pydantic-ai-slim" if name == "pydantic-ai" else name
        try:
            installed = metadata.version(package)
        except metadata.PackageNotFoundError:
            cannot_run(f"{package} is not installed")
        assert installed == version, f"run benchmarks.behaviour again: {package} is {installed}"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.behaviour"],
        capture_output=True,
        encoding="utf-8",
        cwd=ROOT,
        timeout=120,
        check=True,
    )
    shown = PAGE.partition("<!-- table: benchmarks.behaviour -->\n")[2].partition("<!--")[0]
    assert len(VERSIONS) == 3 and done.stdout == shown
