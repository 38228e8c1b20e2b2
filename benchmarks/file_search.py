"""File search side by side: this library, plain ripgrep, and bm25s, on documents of this machine.

    python -m benchmarks.file_search quality     # recall@10, time to index, time to answer
    python -m benchmarks.file_search scale       # 100,000 passages: time to answer

The documents are the docstrings of installed packages, one document a module. A question is made
of a function's first sentence, which is taken out of its document first: some of its words, in
another order. The document it came from is what must be found. bm25s is used if it is installed
(``pip install bm25s PyStemmer``), ripgrep if there is ``rg``.
"""

from __future__ import annotations

import ast
import json
import random
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolwright.builtin.file_search import FileSearchTool
from toolwright.builtin.indexing import index_folder
from toolwright.builtin.terms import STOPWORDS
from toolwright.builtin.vector_store import Source, VectorStore

DOCUMENTS = 4000
QUESTIONS = 500
SEED = 7
DIMENSIONS = 384

Search = Callable[[str], Sequence[str]]


def corpus(most: int = DOCUMENTS) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Documents by name, and questions with the document that answers each."""
    chance = random.Random(SEED)
    documents: dict[str, str] = {}
    questions: list[tuple[str, str]] = []
    root = Path(sysconfig.get_paths()["purelib"])
    for path in sorted(root.rglob("*.py")):
        if len(documents) == most:
            break
        texts = list(docstrings(path))
        if sum(map(len, texts)) < 600:
            continue
        name = path.relative_to(root).as_posix().replace("/", "__").removesuffix(".py") + ".md"
        made = question(texts, chance)
        if made is not None:
            asked, sentence = made
            questions.append((asked, name))
            texts = [text.replace(sentence, "") for text in texts]
        documents[name] = "\n\n".join(texts)
    chance.shuffle(questions)
    return documents, questions[:QUESTIONS]


def docstrings(path: Path) -> Iterator[str]:
    """The docstrings of a module, in order."""
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (SyntaxError, UnicodeDecodeError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                heading = f"## {node.name}\n" if not isinstance(node, ast.Module) else ""
                yield heading + text


def question(texts: Sequence[str], chance: random.Random) -> tuple[str, str] | None:
    """A question about one of the texts, and the sentence that it was made of."""
    sentences = [text.splitlines()[1] for text in texts[1:] if len(text.splitlines()) > 2]
    fit = [one for one in sentences if 8 <= len(one.split()) <= 20]
    if not fit:
        return None
    sentence = chance.choice(fit)
    words = [word.strip(".,:;()`'\"") for word in sentence.split()]
    telling = [word for word in words if word.isalpha() and word.lower() not in STOPWORDS]
    if len(telling) < 5:
        return None
    return " ".join(chance.sample(telling, max(4, len(telling) * 2 // 3))), sentence


# — three ways to search —


def ours(documents: dict[str, str], folder: Path) -> Search:
    """This library, over the folder of documents."""
    store = VectorStore(folder.parent / "store.sqlite")
    index_folder(store, folder)
    tool = FileSearchTool([str(store.path)], 50)

    def search(query: str) -> list[str]:
        return list(dict.fromkeys(hit.filename for hit in tool.search(query)))[:10]

    return search


def ripgrep(documents: dict[str, str], folder: Path) -> Search:
    """The files with most of the words, then with most matches."""

    def search(query: str) -> list[str]:
        scores: Counter[str] = Counter()
        for word in query.split():
            argv = [
                "rg",
                "--count",
                "--ignore-case",
                "--word-regexp",
                "--fixed-strings",
                "--",
                word,
            ]
            done = subprocess.run([*argv, "."], cwd=folder, capture_output=True, text=True)
            for line in done.stdout.splitlines():
                name, _, count = line.rpartition(":")
                scores[name.removeprefix("./")] += 1000 + min(int(count), 999)
        return [name for name, _ in scores.most_common(10)]

    return search


def bm25s_library(documents: dict[str, str], folder: Path) -> Search:
    """The library bm25s, with its stemmer and stopwords; a document is one entry."""
    import bm25s  # type: ignore[import-not-found]
    import Stemmer  # type: ignore[import-not-found]

    stemmer, names = Stemmer.Stemmer("english"), list(documents)
    texts = [documents[name] for name in names]
    retriever = bm25s.BM25()
    tokens = bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)
    retriever.index(tokens, show_progress=False)

    def search(query: str) -> list[str]:
        asked = bm25s.tokenize([query], stopwords="en", stemmer=stemmer, show_progress=False)
        found, _ = retriever.retrieve(asked, k=10, show_progress=False)
        return [names[int(at)] for at in found[0]]

    return search


WAYS: dict[str, Callable[[dict[str, str], Path], Search]] = {
    "toolwright": ours,
    "ripgrep": ripgrep,
    "bm25s": bm25s_library,
}


def quality() -> None:
    """The table of the documentation."""
    documents, questions = corpus()
    size = sum(map(len, documents.values()))
    print(f"{len(documents)} documents, {size / 1e6:.1f} MB, {len(questions)} questions")
    print(f"{'':12}{'recall@1':>9}{'recall@10':>10}{'index s':>9}{'answer ms':>10}{'p95 ms':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "docs")
        folder.mkdir()
        for name, text in documents.items():
            (folder / name).write_text(text, "utf-8")
        for name, make in WAYS.items():
            if name == "ripgrep" and shutil.which("rg") is None:
                continue
            try:
                print(row(name, make, documents, folder, questions))
            except ImportError as error:
                print(f"{name:12} not installed ({error.name})")


def row(
    name: str,
    make: Callable[[dict[str, str], Path], Search],
    documents: dict[str, str],
    folder: Path,
    questions: Sequence[tuple[str, str]],
) -> str:
    """One way's figures."""
    started = time.perf_counter()
    search = make(documents, folder)
    indexed = time.perf_counter() - started
    search(questions[0][0])
    times, first, ten = [], 0, 0
    for asked, right in questions:
        started = time.perf_counter()
        found = search(asked)
        times.append((time.perf_counter() - started) * 1000)
        first += bool(found) and found[0] == right
        ten += right in found
    count = len(questions)
    p95 = statistics.quantiles(times, n=20)[-1]
    return (
        f"{name:12}{first / count:>9.3f}{ten / count:>10.3f}{indexed:>9.2f}"
        f"{statistics.median(times):>10.1f}{p95:>8.1f}"
    )


# — scale —


class Noise:
    """Vectors without meaning, for the time that comparing them takes."""

    model = "noise"

    def __init__(self) -> None:
        self._random = np.random.default_rng(SEED)

    def embed(self, texts: Sequence[str]) -> Any:
        rows = self._random.standard_normal((len(texts), DIMENSIONS), np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def scale(count: int = 100_000) -> None:
    """Time to answer over many passages, by words alone and with vectors."""
    documents, questions = corpus(800)
    parts = [text for text in "\n\n".join(documents.values()).split("\n\n") if len(text) > 80]
    chance = random.Random(SEED)
    for title, embedder in (("words", None), (f"words and {DIMENSIONS} dimensions", Noise())):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "store.sqlite")
            store = VectorStore(path, embedder)
            started = time.perf_counter()
            for first in range(0, count, 1000):
                store.add(*(passage(n, parts, chance) for n in range(first, first + 1000)))
            made = time.perf_counter() - started
            size = sum(file.stat().st_size for file in path.parent.iterdir()) / 1e6
            told = {"what": title, "passages": len(store), "index_s": round(made, 1)}
            for name, filters in (
                ("all", None),
                ("filtered", {"type": "lt", "key": "n", "value": 5}),
            ):
                tool = FileSearchTool([str(path)], filters=filters, embedder=embedder)
                tool.search("warm up")
                told[name] = timed(tool, [asked for asked, _ in questions[:200]])
            print(json.dumps({**told, "file_mb": round(size)}), flush=True)
            store.close()


def passage(number: int, parts: Sequence[str], chance: random.Random) -> Source:
    """A file of one passage, made of two pieces of documentation."""
    text = f"{chance.choice(parts)} {chance.choice(parts)}"[:1500]
    return Source(f"{number}.md", text.replace("\n", " "), "", {"n": number % 10})


def timed(tool: FileSearchTool, questions: Sequence[str]) -> dict[str, float]:
    """Milliseconds of one processor, which do not depend on what else the machine does."""
    times = []
    for asked in questions:
        started = time.process_time()
        tool.search(asked)
        times.append((time.process_time() - started) * 1000)
    return {
        "median_ms": round(statistics.median(times), 1),
        "p95_ms": round(statistics.quantiles(times, n=20)[-1], 1),
        "max_ms": round(max(times), 1),
    }


if __name__ == "__main__":
    {"quality": quality, "scale": scale}[sys.argv[1] if sys.argv[1:] else "quality"]()
