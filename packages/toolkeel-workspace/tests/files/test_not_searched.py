"""What a search left out."""

from __future__ import annotations

from pathlib import Path

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
