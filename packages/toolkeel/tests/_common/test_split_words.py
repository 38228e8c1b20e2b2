"""Words in one spelling, in any script."""

from __future__ import annotations

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from toolkeel._common.split_words import split_query, split_terms, stem_word


def test_forms_of_a_word_are_one_term() -> None:
    for forms in (
        ("index", "indexes", "indexing", "indexed"),
        ("parse", "parses", "parsing", "parsed"),
        ("file", "files"),
        ("query", "queries"),
        ("cache", "caches", "caching"),
        ("Café", "cafe", "CAFÉS"),
    ):
        assert len({split_terms(form)[0] for form in forms}) == 1, forms


def test_words_that_only_look_alike_stay_apart() -> None:
    assert (
        len({stem_word(word) for word in ("class", "clang", "clear", "bus", "busy", "this")}) == 6
    )
    assert stem_word("v2") == "v2"


def test_names_in_code_are_found_whole_and_by_their_parts() -> None:
    assert set(split_terms("max_num_results")) == {"max", "num", "result"}
    assert {"httprespons", "http", "respons"} <= set(split_terms("HTTPResponse"))
    assert {"utf8decoder", "utf", "8", "decoder"} <= set(split_terms("utf8Decoder"))


def test_chinese_is_taken_in_pairs() -> None:
    assert split_terms("北京天气") == ["北京", "京天", "天气"]
    assert split_terms("用SQLite存") == ["用", "sqlit", "sq", "lit", "存"]
    assert split_terms("東京 ソウル 서울") == ["東京", "ソウ", "ウル", "서울"]


def test_a_question_is_asked_by_the_words_that_say_something() -> None:
    assert split_query("How do I index the files of a folder?") == ["index", "fil", "folder"]
    assert split_query("what is it") == ["what", "is", "it"]
    assert split_query("") == []


@given(st.text())
def test_every_term_is_one_token_of_the_index(text: str) -> None:
    """Else the index would hold other words than are asked for."""
    found = split_terms(text)
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(x, content='', tokenize='ascii')")
    db.execute("CREATE VIRTUAL TABLE v USING fts5vocab('t', 'row')")
    db.execute("INSERT INTO t (rowid, x) VALUES (1, ?)", (" ".join(found),))
    held = {row[0] for row in db.execute("SELECT term FROM v")}
    db.close()
    assert held == set(found)
