"""Fuzz targets with atheris, guided by coverage, and keep a small corpus of each.

    make PYTHON=python3.13 fuzz                        # all of them, for a minute each
    .venv-fuzz/bin/python -m tests.fuzz.fuzz parse --minutes 10

A text that breaks the target is left in ``crash-*`` in the working folder, and the exit code is not
0. Afterwards the corpus in ``tests/fuzz/corpus/<target>.jsonl`` is made anew: one text a line, as few
as reach what all of them reach. `test_corpus.py` plays it without atheris.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
NAMES = (
    *("parse", "validate", "schema", "state", "wires", "events", "frames", "paths", "addresses"),
    *("shell", "patch", "transcript", "journal"),
)
"""Of the targets, which are imported only where they run: so atheris sees what they import."""
LARGEST = 400
"""Characters of a text that is kept."""


def texts(target: str) -> list[str]:
    """The corpus of a target."""
    path = CORPUS / f"{target}.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def decoded(data: bytes) -> str:
    """Any bytes as text; what is no UTF-8 becomes half surrogate pairs, which models can send, too."""
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def work(target: str, options: list[str]) -> None:
    """Fuzz in this process, which libFuzzer ends. To merge, it starts the same command again."""
    import atheris

    with atheris.instrument_imports(include=["toolkeel"]):
        from tests.fuzz.targets import TARGETS

    run = TARGETS[target]
    atheris.Setup([shlex.join(command(target)), *options], lambda data: run(decoded(data)))
    atheris.Fuzz()


def command(target: str) -> list[str]:
    return [sys.executable, "-m", "tests.fuzz.fuzz", target, "--work"]


def start(target: str, *options: str) -> int:
    return subprocess.run([*command(target), *options], check=False).returncode


def fuzz(target: str, minutes: float) -> tuple[list[str], int]:
    """The texts that reach the most, shortest first, and libFuzzer's exit code."""
    with tempfile.TemporaryDirectory() as scratch:
        found, small = Path(scratch, "found"), Path(scratch, "small")
        found.mkdir()
        small.mkdir()
        for number, text in enumerate(texts(target)):
            (found / str(number)).write_bytes(encoded(text))
        seconds = f"-max_total_time={int(minutes * 60)}"
        code = start(target, str(found), seconds, "-max_len=400", "-timeout=20", "-verbosity=1")
        merged = start(target, str(small), str(found), "-merge=1", "-verbosity=0")
        kept = [decoded(path.read_bytes()) for path in small.iterdir()]
    return sorted(kept, key=lambda text: (len(text), text)), code or merged


def keep(target: str, minutes: float) -> int:
    """Fuzz, and make the corpus of a target anew; libFuzzer's exit code."""
    found, code = fuzz(target, minutes)
    lines = [json.dumps(text) for text in found if len(text) <= LARGEST]
    if lines:
        CORPUS.mkdir(exist_ok=True)
        (CORPUS / f"{target}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    print(f"{target}: {len(lines)} texts kept, exit code {code}", flush=True)
    return code


def main() -> None:
    parser = argparse.ArgumentParser(description="Fuzz a target, or all.")
    parser.add_argument("target", choices=(*NAMES, "all"))
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given, options = parser.parse_known_args()
    if given.work:
        return work(given.target, options)
    chosen = NAMES if given.target == "all" else (given.target,)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        codes = list(pool.map(keep, chosen, [given.minutes] * len(chosen)))
    sys.exit(max(codes))


if __name__ == "__main__":
    main()
