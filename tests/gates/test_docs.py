"""What the documents say holds: their code runs, their links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gates.brought import HIDE, README, hidden, line_of
from tests.gates.documents import (
    Block,
    blocks,
    broken_links,
    documents,
    missing_paths,
    missing_targets,
    program,
)
from tests.gates.sources import report
from tests.shared import PYTHONPATH, ROOT

DOCUMENTS = [path.relative_to(ROOT).as_posix() for path in documents()]
WITH_PYTHON = [name for name in DOCUMENTS if program((ROOT / name).read_text("utf-8"))]
SECONDS = 60


def _script(name: str, code: list[Block]) -> str:
    """A program that runs the blocks as one, each error at its line of the document."""
    parts = [f"import doctest, json\nscope = {{'__name__': '__main__'}}\nname = {name!r}"]
    for block in code:
        if block.code.lstrip().startswith(">>>"):
            parts.append(
                f"test = doctest.DocTestParser().get_doctest("
                f"{block.code!r}, scope, name, name, {block.line - 1})\n"
                "assert not doctest.DocTestRunner().run(test, clear_globs=False).failed"
            )
        else:
            padded = "\n" * (block.line - 1) + block.code
            parts.append(f"exec(compile({padded!r}, name, 'exec'), scope)")
    return "\n".join(parts) + "\n"


def _run(
    name: str, code: list[Block], folder: Path, line: str = README
) -> subprocess.CompletedProcess[str]:
    """Run blocks with what an install line brings, and nothing else that is installed here."""
    script = folder / "blocks.py"
    script.write_text(HIDE.format(names=hidden(line)) + _script(name, code), "utf-8")
    work = folder / "work"
    work.mkdir()
    return subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=work,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_PYTHON)
def test_the_python_of_every_document_runs_in_order_with_what_its_install_lines_bring(
    name: str, tmp_path: Path
) -> None:
    text = (ROOT / name).read_text("utf-8")
    done = _run(name, program(text), tmp_path, line_of(text))
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_block_that_is_not_run_is_python_that_compiles(name: str) -> None:
    for block in blocks((ROOT / name).read_text("utf-8")):
        if block.language == "python" and block.excuse:
            compile("\n" * (block.line - 1) + block.code, name, "exec")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_path_and_make_target_in_a_document_exists(name: str) -> None:
    path = ROOT / name
    text = path.read_text("utf-8")
    tops = {entry.name for entry in ROOT.iterdir()}
    makefile = (ROOT / "Makefile").read_text("utf-8")
    rows = [f"{name}: link to {target}" for target in broken_links(text, path.parent)]
    rows += [f"{name}: no file {missing}" for missing in missing_paths(text, tops)]
    rows += [f"{name}: no target 'make {missing}'" for missing in missing_targets(text, makefile)]
    report(rows)


SAMPLE = """# A title, `coded`

```python
x = 1
```

<!-- not run: needs a key -->
```python
y = nowhere()
```

- in a list

  ```python
  assert x == 1
  ```

```console
$ make tea
```

See [here](#a-title-coded), [there](gone.md), [a host](https://example.org), `src/gone.py`, `define/tool.py`, `define/gone.py`.
"""


def test_blocks_are_found_with_their_lines_and_excuses() -> None:
    assert blocks(SAMPLE) == [
        Block("python", "x = 1\n", 4, ""),
        Block("python", "y = nowhere()\n", 9, "needs a key"),
        Block("python", "assert x == 1\n", 15, ""),
        Block("console", "$ make tea\n", 19, ""),
    ]
    assert [block.line for block in program(SAMPLE)] == [4, 15]


def test_what_a_document_names_and_the_repository_lacks_is_found() -> None:
    assert broken_links(SAMPLE, ROOT) == ["gone.md"]
    assert missing_paths(SAMPLE, {"src"}) == ["src/gone.py", "define/gone.py"]
    assert missing_targets("run `make tea` or\n    make demo\n", "demo: x\n") == ["tea"]


def test_a_block_that_fails_is_named_with_its_line(tmp_path: Path) -> None:
    done = _run(
        "GUIDE.md", [Block("python", "x = 1\n", 3, ""), Block("python", "x.y\n", 9, "")], tmp_path
    )
    assert done.returncode == 1
    assert 'File "GUIDE.md", line 9' in done.stderr


def test_a_block_that_imports_what_no_line_brings_fails(tmp_path: Path) -> None:
    done = _run(
        "GUIDE.md", [Block("python", "import openai, typer\nimport numpy\n", 3, "")], tmp_path
    )
    assert done.returncode == 1
    assert "No module named 'numpy'" in done.stderr


def test_an_interactive_block_must_print_what_it_shows(tmp_path: Path) -> None:
    done = _run("GUIDE.md", [Block("python", ">>> 1 + 1\n3\n", 3, "")], tmp_path)
    assert done.returncode == 1
    assert "Expected:\n    3\nGot:\n    2" in done.stdout


def test_the_readme_in_chinese_has_the_sections_links_and_commands_of_the_english_one() -> None:
    def told(name: str) -> tuple[int, set[str], set[str], int]:
        text = (ROOT / name).read_text("utf-8")
        links = set(re.findall(r"\]\(([^)#]+)[^)]*\)", text)) - {"README.md", "README.zh-CN.md"}
        links = {link.replace("-chinese.png", "-light.png") for link in links}
        commands = set(re.findall(r"(?m)^    ((?:toolkeel|make) \w+|pip install \S+)", text))
        return text.count("\n## "), links, commands, text.count("```python")

    assert told("README.zh-CN.md") == told("README.md")
