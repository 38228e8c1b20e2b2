"""Fuzz a target with atheris, guided by coverage, and keep a small corpus.

    python -m tests.fuzz.fuzz parse --minutes 10

A text that breaks the target is left in ``crash-*`` in the working folder, and the exit code is not
0. Afterwards the corpus in ``tests/fuzz/corpus/<target>.jsonl`` is made anew: one text a line, as few
as reach what all of them reach. `test_corpus.py` plays it without atheris.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
LARGEST = 200
"""Bytes of a text that is kept."""


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


def work(target: str, folder: str, options: list[str]) -> None:
    """Fuzz in this process, which libFuzzer ends."""
    import atheris

    with atheris.instrument_imports(include=["toolwright"]):
        from tests.fuzz.targets import TARGETS

    run = TARGETS[target]
    atheris.Setup([sys.argv[0], folder, *options], lambda data: run(decoded(data)))
    atheris.Fuzz()


def start(target: str, folder: Path, *options: str) -> int:
    command = [sys.executable, "-m", "tests.fuzz.fuzz", target, "--work", str(folder), *options]
    return subprocess.run(command, check=False).returncode


def main() -> None:
    parser = argparse.ArgumentParser(description="Fuzz a target.")
    parser.add_argument("target", choices=["parse", "validate", "schema", "state"])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given, options = parser.parse_known_args()
    if given.work:
        return work(given.target, given.work, options)
    with tempfile.TemporaryDirectory() as scratch:
        found, small = Path(scratch, "found"), Path(scratch, "small")
        found.mkdir()
        small.mkdir()
        for number, text in enumerate(texts(given.target)):
            (found / str(number)).write_bytes(encoded(text))
        seconds = f"-max_total_time={int(given.minutes * 60)}"
        code = start(given.target, found, seconds, "-max_len=400", "-timeout=20", "-verbosity=1")
        start(given.target, small, str(found), "-merge=1", "-verbosity=0")
        kept = sorted((decoded(p.read_bytes()) for p in small.iterdir()), key=lambda t: (len(t), t))
    CORPUS.mkdir(exist_ok=True)
    lines = [json.dumps(text) for text in kept if len(text) <= LARGEST]
    (CORPUS / f"{given.target}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    print(f"{given.target}: {len(lines)} texts kept, exit code {code}")
    sys.exit(code)


if __name__ == "__main__":
    main()
