"""Which paths fall under patterns of names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel._common.path_patterns import SECRET, fold_part, matching_pattern, secret_pattern

PARTS = st.lists(st.sampled_from(["a", "src", "..", ".", "", "x.y", "é", "config"]), max_size=4)


@pytest.mark.parametrize("pattern", SECRET)
def test_each_secret_name_counts_at_any_depth_and_with_what_is_below(pattern: str) -> None:
    name = pattern.replace("*", "x")
    for path in (name, f"./{name}", f"a/b/{name}", f"{name}/x", name.upper(), f"/srv/u/{name}"):
        assert secret_pattern(path), path


@pytest.mark.parametrize(
    "path",
    ["README.md", ".env.example", "a/.env.sample", "environment", "key", "monkey.py", ".config"]
    + ["docs/credentials.md", "src/secret.py", "idea_rsa", "aws/x", "pem"],
)
def test_what_only_looks_alike_holds_no_secret(path: str) -> None:
    assert secret_pattern(path) == ""


@given(PARTS, PARTS)
def test_whatever_stands_around_a_pattern_it_is_found(before: list[str], after: list[str]) -> None:
    path = "/".join([*before, ".Config", "GH", *after])
    assert matching_pattern(path, (".config/gh",)) == ".config/gh"


@given(st.text(max_size=20))
def test_folding_twice_changes_nothing_more(name: str) -> None:
    assert fold_part(fold_part(name)) == fold_part(name) or not fold_part(name).strip(". ")
