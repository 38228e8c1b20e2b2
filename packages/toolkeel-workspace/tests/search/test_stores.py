"""What holds for every store, whichever engine keeps it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.search.engines import Make
from tests.search.test_vector_store import Broken, Lengths
from toolkeel._common.split_words import split_terms
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.search.filters import FILTER_KINDS, compile_filter
from toolkeel_workspace.search.indexing import index_folder
from toolkeel_workspace.search.stores import Source, Store, weigh_terms


def words(store: Store, *asked: str) -> dict[str, int]:
    with store.view() as view:
        return dict(view.count_terms(asked)[1])


def holding(store: Store, term: str, filters: object = None) -> set[str]:
    """Names of the files with a passage that has a term."""
    with store.view(filters) as view:
        return {one.name for _, one in view.read_passages(list(view.search_words([term], 1000)))}


def test_files_are_put_in_replaced_and_taken_out(make: Make) -> None:
    store = make(None)
    attributes = {"year": 2024, "标签": "猫", "ratio": 0.5, "draft": True}
    first, _ = store.add(
        Source("a.md", "alpha beta 猫咪", "Title", attributes, "stamp", "digest"),
        Source("b.md", "# Gamma\ndelta alpha"),
    )
    assert words(store, "alpha", "titl", "猫咪", "zebra") == {"alpha": 2, "titl": 1, "猫咪": 1}
    a, b = store.list_files()
    assert (a.file_id, a.name, a.stamp, a.digest, a.attributes) == (
        first, "a.md", "stamp", "digest", attributes,
    )  # fmt: skip
    store.update_stamp("a.md", "later")
    assert store.add(Source("b.md", "epsilon")) == [b.file_id]
    assert [(one.name, one.stamp) for one in store.list_files()] == [
        ("a.md", "later"),
        ("b.md", ""),
    ]
    assert (words(store, "alpha", "delta"), len(store)) == ({"alpha": 1}, 2)
    assert store.remove("a.md", "b.md", "c.md") == 2
    assert (len(store), words(store, "alpha", "epsilon"), store.list_files()) == (0, {}, [])


NAMES = st.sampled_from(["a", "b", "c"])
TEXTS = st.text(st.sampled_from("xy 猫狗\n#"), max_size=20)
STEPS = st.lists(st.tuples(NAMES, st.none() | TEXTS), max_size=8)


@settings(max_examples=12, deadline=None)
@given(STEPS)
def test_after_any_steps_a_store_is_what_it_would_be_made_anew(
    new: Callable[[Path], Make],
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str, str | None]],
) -> None:
    folder = tmp_path_factory.mktemp("stores")
    used, fresh, now = new(folder)(None), new(folder)(None), dict[str, str]()
    for name, text in steps:
        now.pop(name, None)
        if text is None:
            used.remove(name)
        else:
            used.add(Source(name, text))
            now[name] = text
    fresh.add(*(Source(name, text) for name, text in now.items()))
    asked = sorted(
        {term for _, text in steps for term in split_terms(text or "")} | {"a", "b", "c"}
    )
    assert words(used, *asked) == words(fresh, *asked)
    assert len(used) == len(fresh)
    assert {one.name for one in used.list_files()} == set(now)
    for term in asked:
        assert holding(used, term) == holding(fresh, term)


def test_nothing_is_changed_if_there_are_no_vectors(make: Make) -> None:
    make(Lengths()).add(Source("a.md", "alpha"))
    with pytest.raises(ToolError, match="no vectors today"):
        make(Broken()).add(Source("a.md", "beta"), Source("b.md", "beta"))
    store = make(Lengths())
    assert (words(store, "alpha", "beta"), len(store)) == ({"alpha": 1}, 1)


def test_vectors_of_two_models_are_not_mixed(make: Make) -> None:
    make(Lengths()).add(Source("a.md", "alpha"))

    class Other(Lengths):
        model = "other"

    with pytest.raises(SetupError, match="has vectors of 'lengths', not of 'other'"):
        make(Other())
    again = make(None)
    assert (again.get_model(), again.list_without_vectors()) == ("lengths", frozenset())


def test_a_folder_is_indexed_into_any_store(make: Make, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "walrus.md").write_text("# 海象\n海象生活在北极。", "utf-8")
    (folder / "seal.md").write_text("seals eat fish")
    store = make(Lengths())
    assert index_folder(store, folder).added == 2
    assert index_folder(store, folder).unchanged == 2
    (folder / "seal.md").unlink()
    assert index_folder(store, folder).removed == 1
    assert [one.name for one in store.list_files()] == ["walrus.md"]


def test_passages_near_in_meaning_are_found_beside_those_asked_for(make: Make) -> None:
    store = make(Lengths())
    store.add(Source("short.md", "alpha", "", {"n": 1}), Source("long.md", "beta " * 20))
    with store.view() as view:
        [short] = view.search_words(["alpha"], 9)
        [long] = view.search_words(["beta"], 9)
        vector = Lengths().embed(["short"])[0]
        assert view.search_vectors(vector, 9, []) == {short: pytest.approx(1.0)}
        told = view.search_vectors(vector, 9, [long])
        assert told == {short: pytest.approx(1.0), long: pytest.approx(0.0)}
    with store.view({"type": "ne", "key": "n", "value": 1}) as view:
        assert view.search_vectors(vector, 9, []) == {}


def test_two_who_write_at_once_lose_nothing(make: Make) -> None:
    stores = [make(None), make(None)]
    failed: list[BaseException] = []

    def write(store: Store, mark: str) -> None:
        try:
            for number in range(8):
                store.add(Source(f"{mark}{number}", f"common {mark}{number}"))
        except BaseException as error:
            failed.append(error)

    pairs = zip(stores, "ab", strict=True)
    threads = [threading.Thread(target=write, args=pair) for pair in pairs]
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads that take turns within every statement
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(usual)
    assert not failed
    assert (words(stores[0], "common"), len(stores[1])) == ({"common": 16}, 16)


def test_text_that_no_database_holds_is_cleaned(make: Make) -> None:
    store = make(None)
    store.add(Source("a.md", "half \ud83d end\0", "", {"k": "a\0b\ud83d"}))
    assert words(store, "half", "end") == {"half": 1, "end": 1}
    assert store.list_files()[0].attributes == {"k": "ab"}


KEYS = st.sampled_from(["k", 'a"b', "a.b", "filename", "地"])
VALUES = st.sampled_from(["", "a", "B", "天", "10"]) | st.integers(-3, 3) | st.booleans()
VALUES |= st.sampled_from([0.5, -1.0, 2.0, 1e300])
COMPARED = st.builds(
    lambda kind, key, values: {
        "type": kind, "key": key, "value": values if kind in ("in", "nin") else (values or [0])[0],
    },
    st.sampled_from([kind for kind in FILTER_KINDS if kind not in ("and", "or")]),
    KEYS,
    st.lists(VALUES, max_size=3),
)  # fmt: skip
FILTERS = st.recursive(
    COMPARED,
    lambda inner: st.builds(
        lambda kind, inner: {"type": kind, "filters": inner},
        st.sampled_from(["and", "or"]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=4,
)


HOSTILE = ("x') OR 1=1 --", "'; DROP TABLE files; --", '"} = true --', "k' = 'k", "%s", "?", "$.k")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_key_and_no_value_of_a_filter_is_a_query(make: Make, hostile: str) -> None:
    store = make(None)
    store.add(Source("a", "common", "", {"k": "v"}), Source("b", "common", "", {"k": hostile}))
    for kind, key, value, right in (
        ("eq", hostile, "v", set()),
        ("in", hostile, ["v", hostile], set()),
        ("eq", "k", hostile, {"b"}),
        ("in", "k", [hostile], {"b"}),
    ):
        try:
            found = holding(store, "common", {"type": kind, "key": key, "value": value})
        except SetupError as error:
            assert "Qdrant cannot name" in str(error)
        else:
            assert found == right
    assert len(store) == 2


@settings(max_examples=40, deadline=None)
@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=3), max_size=4), FILTERS)
def test_a_filter_means_the_same_everywhere(
    new: Callable[[Path], Make],
    tmp_path_factory: pytest.TempPathFactory,
    held: list[dict[str, Any]],
    filters: dict[str, Any],
) -> None:
    store = new(tmp_path_factory.mktemp("stores"))(None)
    held = [{k: v for k, v in one.items() if k != "filename"} for one in held]
    store.add(*(Source(f"{n}", "common", "", one) for n, one in enumerate(held)))
    try:
        test = compile_filter(filters)
    except SetupError as error:
        with pytest.raises(SetupError) as told, store.view(filters):
            pass
        assert str(told.value) == str(error) or "Qdrant cannot name" in str(told.value)
        return
    right = {f"{n}" for n, one in enumerate(held) if test({**one, "filename": f"{n}"})}
    try:
        assert holding(store, "common", filters) == right
    except SetupError as error:
        assert "Qdrant compares numbers alone" in str(error) or "Qdrant cannot name" in str(error)


def test_a_term_weighs_more_in_a_title_and_in_a_short_passage() -> None:
    short = weigh_terms("", "seal", "", "walrus")
    long = weigh_terms("", "seal", "", "walrus" + " x" * 200)
    assert short["seal"] > short["walrus"] > long["walrus"]
    assert weigh_terms("", "", "", "a " * 50)["a"] < 2.2
