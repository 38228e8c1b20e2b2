"""What a search left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkeel_workspace.files import not_searched
from toolkeel_workspace.files.not_searched import NotSearched
from toolkeel_workspace.files.open_beneath import Root


def test_names_are_listed_by_their_reason_and_counted_beyond_five(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "large").write_bytes(bytes(9))
    found = NotSearched(Root(tmp_path))
    assert found.describe() == ""
    for number in range(7):
        found.add("binary", f"{number}.png")
    found.survey(".", 8, lambda name: True)
    assert found.describe() == (
        "Not searched: large (above 0 MB); 0.png, 1.png, 2.png, 3.png, 4.png and 2 more (binary); "
        "node_modules/ (ignored)."
    )


@pytest.mark.parametrize("count", [3, 4])
def test_a_survey_that_ends_early_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(not_searched, "MAX_SURVEYED", 3)
    for number in range(count):
        (tmp_path / str(number)).touch()
    found = NotSearched(Root(tmp_path))
    found.survey(".", 8, lambda name: True)
    assert ("only the first 3 files were looked at" in found.describe()) is (count > 3)
