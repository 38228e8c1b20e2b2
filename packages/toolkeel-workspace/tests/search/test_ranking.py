"""Which passages are found, and how much of the question they cover."""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builtin.webserver import serving
from tests.search.engines import Make
from tests.search.test_embeddings import embeds
from toolkeel_workspace.search.embeddings import Embeddings
from toolkeel_workspace.search.ranking import Hit, Ranking, search_store
from toolkeel_workspace.search.stores import Source, Store
from toolkeel_workspace.search.vector_store import VectorStore

SOURCES = [
    Source("install.md", "# Install\nRun pip install to get the package.", "Guide", {"year": 2024}),
    Source(
        "index.md",
        "# Indexing\nFolders are indexed again only if files changed.",
        "",
        {"year": 2025},
    ),
    Source(
        "zh.md",
        "# 天气\n北京今天天气很好,适合去颐和园散步。\n# 数据库\n小型数据库不需要服务器。",
        "",
        {"lang": "zh"},
    ),
    Source(
        "code.py", "def parse_arguments(text):\n    return json.loads(text)\n", "", {"lang": "py"}
    ),
]


@pytest.fixture
def store(make: Make) -> Store:
    made = make(None)
    made.add(*SOURCES)
    return made


def found(
    store: Store, *queries: str, limit: int = 5, filters: Any = None, **options: float
) -> list[Hit]:
    return search_store(store, queries, limit, Ranking(**options), filters)


def names(hits: list[Hit]) -> list[str]:
    return [hit.filename for hit in hits]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("How do I install the package?", "install.md"),
        ("reindex changed folder", "index.md"),
        ("parseArguments", "code.py"),
        ("guide", "install.md"),
        ("北京", "zh.md"),
        ("颐和园散步", "zh.md"),
        ("数据库要服务器吗", "zh.md"),
    ],
)
def test_the_passage_that_answers_is_first(store: Store, query: str, name: str) -> None:
    assert names(found(store, query))[0] == name


def test_a_hit_says_where_it_stands(store: Store) -> None:
    [hit] = found(store, "小型数据库")
    assert (hit.heading, hit.text, hit.attributes, hit.store, hit.score) == (
        "数据库",
        "# 数据库\n小型数据库不需要服务器。",
        {"lang": "zh"},
        store.name,
        1.0,
    )
    assert hit.file_id.startswith("file-")
    assert SOURCES[2].text[hit.start :].startswith("# 数据库")


def test_the_score_is_the_share_of_the_question_that_is_covered(store: Store) -> None:
    whole, half, none = (
        found(store, query) for query in ("install package", "install zebra", "zebra giraffe")
    )
    assert whole[0].score == 1.0
    assert 0.3 < half[0].score < 0.7
    assert none == []
    assert names(found(store, "install zebra", score_threshold=0.8)) == []


def test_filters_choose_the_files(store: Store) -> None:
    both = found(store, "install indexed package files")
    assert set(names(both)) == {"install.md", "index.md"}
    late = {"type": "gte", "key": "year", "value": 2025}
    assert names(found(store, "install indexed package files", filters=late)) == ["index.md"]
    by_name = {"type": "eq", "key": "filename", "value": "install.md"}
    assert names(found(store, "install indexed files", filters=by_name)) == ["install.md"]
    by_id = {"metadata": {}, "file_ids": [both[0].file_id]}
    assert names(found(store, "install indexed files", filters=by_id)) == [both[0].filename]
    assert found(store, "install", filters={"type": "eq", "key": "x", "value": 1}) == []


def test_no_question_can_break_the_query(store: Store) -> None:
    for query in (
        '"',
        "* OR (",
        "NEAR(a b)",
        "head:x",
        "a AND NOT b",
        "' OR 1=1 --",
        "-",
        "^x",
        "",
    ):
        assert isinstance(found(store, query), list)
    assert found(store, "NOT install") == found(store, "install")


def test_several_questions_are_answered_together(store: Store) -> None:
    hits = found(store, "install", "indexing")
    assert set(names(hits)) == {"install.md", "index.md"}
    assert {hit.score for hit in hits} == {1.0}


def test_a_word_of_every_passage_does_not_hide_a_rare_one(make: Make) -> None:
    store = make(None)
    store.add(*(Source(f"{n}.md", f"common text number{n}") for n in range(300)))
    assert names(found(store, "common number271"))[0] == "271.md"
    assert len(found(store, "common", limit=7)) == 7


def with_vectors(make: Make, use: Callable[[Store], None]) -> None:
    """A store with the vectors of `tests.search.test_embeddings`."""

    async def go() -> None:
        async with serving(embeds) as server:
            model = Embeddings("tiny", f"{server.url}/v1")

            def work() -> None:
                store = make(model)
                store.add(Source("kitten.md", "a cat sleeps"), Source("dog.md", "a dog barks"))
                store.add(Source("car.md", "a car drives", "", {"wheels": 4}))
                use(store)

            await asyncio.to_thread(work)

    asyncio.run(go())


def test_meaning_finds_what_words_do_not(make: Make) -> None:
    def use(store: Store) -> None:
        hits = found(store, "猫")
        assert names(hits)[0] == "kitten.md"
        assert hits[0].score > 0.9
        words = found(store, "dog", embedding_weight=0)
        assert names(words) == ["dog.md"]
        wheels = {"type": "eq", "key": "wheels", "value": 4}
        assert names(found(store, "猫", filters=wheels, embedding_weight=1)) == ["car.md"]
        store.add(Source("more.md", "cat cat cat"))
        assert "more.md" in names(found(store, "cat"))

    with_vectors(make, use)


def test_what_both_lists_hold_comes_before_what_one_holds(make: Make) -> None:
    def use(store: Store) -> None:
        assert names(found(store, "猫 barks"))[:2] == ["dog.md", "kitten.md"] or names(
            found(store, "猫 barks")
        )[:2] == ["kitten.md", "dog.md"]
        meaning = found(store, "猫 barks", text_weight=0.01, embedding_weight=5)
        assert names(meaning)[0] == "kitten.md"
        text = found(store, "猫 barks", text_weight=5, embedding_weight=0.01)
        assert names(text)[0] == "dog.md"

    with_vectors(make, use)


class _Told:
    """An embedder with vectors told beforehand: meanings that a test can choose."""

    model = "told"

    def __init__(self, likeness: dict[str, float]) -> None:
        self.likeness = likeness

    def embed(self, texts: Sequence[str]) -> Any:
        cosines = [next((c for key, c in self.likeness.items() if key in t), 1.0) for t in texts]
        return np.array([[c, math.sqrt(1 - c * c)] for c in cosines], np.float32)


def ranked(folder: Path, likeness: dict[str, float], query: str, **options: float) -> list[str]:
    with VectorStore(folder / f"{secrets.token_hex(4)}.sqlite", _Told(likeness)) as store:
        store.add(*(Source(f"{name}.md", f"{name} {TEXTS[name]}") for name in likeness))
        return names(found(store, query, **options))


TEXTS = {
    "apple": "walrus tusks grow in the arctic sea",
    "berry": "walrus in the zoo",
    "cherry": "seals eat fish",
    "damson": "bears sleep in winter",
}


def test_a_passage_that_stands_out_by_its_words_keeps_its_lead(tmp_path: Path) -> None:
    likeness = {"apple": 0.5, "berry": 0.52, "cherry": 0.51, "damson": 0.4}
    assert ranked(tmp_path, likeness, "walrus tusks arctic")[0] == "apple.md"


def test_a_passage_that_stands_out_by_its_meaning_keeps_its_lead(tmp_path: Path) -> None:
    likeness = {"apple": 0.1, "berry": 0.12, "cherry": 0.95, "damson": 0.11}
    assert ranked(tmp_path, likeness, "walrus", embedding_weight=1)[0] == "cherry.md"


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.integers(1, 98), min_size=4, max_size=4, unique=True),
    st.sampled_from([0.2, 0.5, 0.9]),
)
def test_it_does_not_matter_how_near_to_each_other_a_model_puts_its_vectors(
    tmp_path_factory: pytest.TempPathFactory, cosines: list[int], part: float
) -> None:
    folder = tmp_path_factory.mktemp("stores")
    wide = {name: cosine / 100 for name, cosine in zip(TEXTS, cosines, strict=True)}
    narrow = {name: 1 - part + part * cosine for name, cosine in wide.items()}
    query = "walrus tusks"
    assert ranked(folder, wide, query) == ranked(folder, narrow, query)


def test_a_weight_of_nothing_leaves_a_list_out(tmp_path: Path) -> None:
    likeness = {"apple": 0.1, "berry": 0.2, "cherry": 0.3, "damson": -0.5}
    assert ranked(tmp_path, likeness, "walrus tusks", text_weight=0) == [
        "cherry.md",
        "berry.md",
        "apple.md",
    ]
    assert ranked(tmp_path, likeness, "walrus tusks", embedding_weight=0) == [
        "apple.md",
        "berry.md",
    ]


def test_a_passage_without_a_vector_is_found_by_its_words(tmp_path: Path) -> None:
    path = tmp_path / "mixed.sqlite"
    with VectorStore(path) as store:
        store.add(Source("old.md", "walrus tusks"))
    with VectorStore(path, _Told({"seal": 0.9})) as store:
        store.add(Source("new.md", "a seal"))
        assert names(found(store, "walrus tusks")) == ["old.md", "new.md"]
