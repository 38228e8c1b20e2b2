"""The pages of saved reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.evals.test_report import RIGHT, WRONG, report_of
from tests.inspector.serving import HOSTILE, served
from toolkeel_studio.evals.report import reports_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOOLKEEL_DATA", str(tmp_path / "data"))
    reports_folder().mkdir(parents=True)
    return reports_folder()


def test_reports_are_listed_shown_and_compared(folder: Path, tmp_path: Path) -> None:
    with served(tmp_path) as page:
        assert "No report yet" in page.client.get("/evals").text
        wrong = replace(WRONG, case="東京", text=HOSTILE)
        (folder / "old.json").write_text(report_of(wrong).to_json(), "utf-8")
        (folder / "新.json").write_text(report_of(RIGHT).to_json(), "utf-8")
        (folder / "broken.json").write_text("{}")
        listed = page.client.get("/evals").text
        assert "新.json" in listed and "m (grammar)" in listed and "broken.json" in listed
        shown = page.client.get("/evals/old.json").text
        assert "weather: city is wrong" in shown and HOSTILE not in shown
        assert "&#34;city&#34;: &#34;東京&#34;" in shown
        both = page.client.get("/evals/新.json?against=old.json").text
        assert "better in 1, worse in 0 of 1 cases" in both
        assert "is no report" in page.client.get("/evals/broken.json").text
        assert "模型能正确调用" in page.client.get("/evals", headers={"Accept-Language": "zh"}).text


@pytest.mark.parametrize("place", ["/evals/none.json", "/evals/old.json?against=none.json"])
def test_only_files_of_the_folder_are_shown(folder: Path, tmp_path: Path, place: str) -> None:
    (folder / "old.json").write_text(report_of(RIGHT).to_json(), "utf-8")
    (folder.parent / "secret.json").write_text(report_of(RIGHT).to_json(), "utf-8")
    with served(tmp_path) as page:
        assert page.client.get(place).status_code == 404
        assert page.client.get("/evals/..%2Fsecret.json").status_code == 404
