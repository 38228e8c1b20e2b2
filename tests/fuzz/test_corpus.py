"""What fuzzing has found worth keeping is played in every run of the tests, and a little is fuzzed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.fuzz import CORPUS, decoded, encoded, texts
from tests.fuzz.targets import TARGETS

TOKENS = st.sampled_from(
    ['{', '}', '[', ']', '"', ':', ',', '\\', '\\u', 'd83d', 'de00', '00', '-', '1', '1e9', '0.5', 'e400',
     'true', 'null', 'NaN', '"a"', '"n"', '"s"', '"type"', '"object"', '"properties"', '"$ref"', '"#"',
     '"first"', '"kind"', '"cat"', '"version"', '"messages"', '"role"', '"tool"', ' ', '\n', '```', 'json',
     '北', '\ud83d', '\x00', '9' * 30]
)  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus_of_a_target_finds_nothing(target: str) -> None:
    kept = texts(target)
    assert len(kept) >= 10, "python -m tests.fuzz.fuzz makes one"
    for text in kept:
        TARGETS[target](text)


def test_the_corpus_stays_small() -> None:
    assert sum(path.stat().st_size for path in CORPUS.iterdir()) < 400_000


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=150)
@given(
    st.lists(TOKENS, max_size=25).map("".join)
    | st.text(max_size=40)
    | st.binary(max_size=40).map(decoded)
)
def test_any_text_is_taken_or_refused_by_every_target(target: str, text: str) -> None:
    TARGETS[target](text)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_text_that_can_be_kept(data: bytes) -> None:
    assert encoded(json.loads(json.dumps(decoded(data)))) == data
