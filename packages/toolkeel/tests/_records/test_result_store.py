"""Results kept whole under a name."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolkeel._records.result_store import PREFIX, ResultStore


@given(st.lists(st.binary(max_size=20), max_size=5))
def test_each_result_is_found_whole_by_its_name(results: list[bytes]) -> None:
    kept = ResultStore()
    names = [kept.save(data) for data in results]
    for name, data in zip(names, results, strict=True):
        found = kept.find(name)
        assert name.startswith(PREFIX) and found is not None and found.read_bytes() == data
    assert kept.find("output:nothing") is None


def test_the_oldest_results_go_when_there_are_too_many() -> None:
    kept = ResultStore(max_bytes=100)
    names = [kept.save(b"x" * 40) for _ in range(4)]
    assert [kept.find(name) is not None for name in names] == [False, False, True, True]
    large = kept.save(b"x" * 500)
    assert kept.find(large) is not None and kept.find(names[-1]) is None


def test_a_name_is_looked_up_elsewhere_too_and_kept_from_then_on() -> None:
    kept, asked = ResultStore(), list[str]()

    def look(name: str) -> bytes | None:
        asked.append(name)
        return b"mine" if name == "output:../mine" else None

    kept.fallbacks.append(look)
    for _ in range(2):
        found = kept.find("output:../mine")
        assert found is not None and found.read_bytes() == b"mine"
    assert asked == ["output:../mine"] and found.resolve() == found  # no part of a path
    assert kept.find("output:yours") is None


def test_nothing_is_left_when_the_results_go() -> None:
    kept = ResultStore()
    folder = kept.find(kept.save(b"x"))
    assert folder is not None and folder.exists()
    folder = folder.parent
    del kept
    assert not folder.exists()
