"""Tables and figures that tools return are shown to a model; the object is the artifact."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared import optional
from toolkeel import Agent, Toolset, tool
from toolkeel.content import Image, Text
from toolkeel.errors import DefinitionError
from toolkeel.messages import ToolCall, ToolMessage, ToolOutput
from toolkeel.observe.wording import table_of
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call
from toolkeel_workspace.data_results import MAX_CELL, MAX_COLUMNS, MAX_DETAILS, MAX_ROWS

RARE = [pytest.mark.slow, pytest.mark.nightly]
pd = optional("pandas")


def run(body: Callable[[], object]) -> ToolMessage:
    [message] = Toolset([tool("t", description="Return it.")(body)]).run_sync(
        [ToolCall("1", "t", "{}")]
    )
    return message


def rows_of(message: ToolMessage) -> list[list[str]]:
    text = message.text.partition("\n\n")[2].partition("\n[Shown: ")[0]
    return [*csv.reader(io.StringIO(text))]


def frames(kind: str, data: dict[str, list[Any]]) -> Any:
    """The same table of each library."""
    if kind == "pandas":
        return pd.DataFrame(data)
    return (
        optional("polars").DataFrame(data) if kind == "polars" else optional("pyarrow").table(data)
    )


@pytest.mark.parametrize(
    "kind", ["pandas", pytest.param("polars", marks=RARE), pytest.param("pyarrow", marks=RARE)]
)
def test_a_model_reads_shape_types_and_rows_and_the_program_gets_the_table(kind: str) -> None:
    frame = frames(kind, {"größe": ["a,b", None, "多\nо"], "n": [1, 2, 3]})
    message = run(lambda: frame)
    assert message.text.startswith("3 rows, 2 columns: größe (")
    assert rows_of(message) == [["größe", "n"], ["a,b", "1"], ["", "2"], ["多\nо", "3"]]
    assert message.artifact is frame and not message.failed
    shown = table_of(message.details)
    assert shown is not None and (shown.columns, shown.total) == (["größe", "n"], 3)
    assert "Shown" not in message.text


@pytest.mark.parametrize(
    "kind", ["pandas", pytest.param("polars", marks=RARE), pytest.param("pyarrow", marks=RARE)]
)
def test_a_large_table_is_bounded_and_says_how_much_of_it_is_shown(kind: str) -> None:
    wide = {f"c{n}": ["x" * 1000] * 2000 for n in range(MAX_COLUMNS + 1)}
    message = run(lambda: frames(kind, wide))
    shown = table_of(message.details)
    assert shown is not None and shown.total == 2000 and len(shown.columns) == MAX_COLUMNS
    assert sum(len(cell) for row in shown.rows for cell in row) <= MAX_DETAILS
    assert {len(cell) for row in shown.rows for cell in row} == {MAX_CELL}
    narrow = run(lambda: frames(kind, {"n": [*range(2000)]}))
    assert narrow.text.endswith(f"\n[Shown: rows 1 to {MAX_ROWS} of 2,000]")
    assert len(rows_of(narrow)) == 1 + MAX_ROWS
    few = run(lambda: frames(kind, {f"c{n}": [1] for n in range(MAX_COLUMNS + 1)}))
    assert few.text.endswith(f"\n[Shown: columns 1 to {MAX_COLUMNS} of {MAX_COLUMNS + 1}]")


def test_an_index_is_shown_unless_it_only_counts() -> None:
    plain = pd.DataFrame({"day": [dt.date(2026, 1, 1), None], "n": [1.5, None]})
    assert rows_of(run(lambda: plain))[0] == ["day", "n"]
    assert rows_of(run(lambda: plain.set_index("day"))) == [
        ["day", "n"],
        ["2026-01-01", "1.5"],
        ["", ""],
    ]
    both = plain.assign(k=["a", "b"]).set_index(["k", "day"])
    assert rows_of(run(lambda: both)) == [
        ["k", "day", "n"],
        ["a", "2026-01-01", "1.5"],
        ["b", "", ""],
    ]
    grouped = both.reset_index().groupby("k").agg({"n": ["min", "max"]})
    assert rows_of(run(lambda: grouped))[0] == ["k", "n/min", "n/max"]
    assert run(lambda: pd.DataFrame()).text == "0 rows, 0 columns"


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=9), st.integers() | st.none()), max_size=9))
def test_every_row_is_read_back_as_it_is(rows: list[tuple[str, int | None]]) -> None:
    frame = pd.DataFrame(
        {"text": [row[0] for row in rows], "n": [row[1] for row in rows]}, dtype=object
    )
    details = run(lambda: frame).details
    shown = table_of(details)
    assert shown is not None
    expected = [[text, "" if n is None else str(n)] for text, n in rows]
    assert shown.rows == expected


@tool
def sales(count: int) -> pd.DataFrame:
    """Return the first months."""
    return pd.DataFrame({"month": [*range(1, 13)], "tea": [30] * 12}).head(count)


@tool
def months() -> list[pd.DataFrame]:
    """Return two tables."""
    return [pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [2]})]


def test_tools_annotated_with_tables_work_in_a_session_and_the_artifact_is_named(
    tmp_path: Path,
) -> None:
    sessions = Sessions(tmp_path / "talk.db")
    session = sessions.open("a")
    model = Scripted([call("sales", {"count": 2}), call("months", {}), "Done."])
    result = Agent(model, [sales, months]).run_sync("go", session=session)
    first, second = [each for each in result.messages if isinstance(each, ToolMessage)]
    assert first.artifact.shape == (2, 2) and rows_of(first)[1] == ["1", "30"]
    assert [type(block) for block in second.content] == [Text, Text]
    assert [each.columns[0] for each in second.artifact] == ["a", "b"]
    again = sessions.open("a").messages[2]
    assert isinstance(again, ToolMessage) and again.text == first.text
    assert "DataFrame" in repr(again.artifact)


def test_a_table_in_a_dict_has_no_form_and_is_refused_when_it_is_defined() -> None:
    told = "DataFrame has no JSON form.*; return it alone or in a list, or write -> list"
    with pytest.raises(DefinitionError, match=told):

        @tool
        def both() -> dict[str, pd.DataFrame]:
            """Return both."""
            return {}


def figure() -> Any:
    plt = optional("matplotlib.figure").Figure((1, 1))
    plt.add_subplot().plot([1, 2])
    return plt


def test_a_figure_axes_and_a_picture_are_shown_as_pictures() -> None:
    drawn = figure()
    for value in (drawn, drawn.axes[0], optional("PIL.Image").new("RGB", (3, 2))):
        message = run(iter([value]).__next__)
        [picture] = message.content
        assert isinstance(picture, Image) and picture.media_type == "image/png"
        assert picture.data.startswith(b"\x89PNG") and message.artifact is value
    mixed = run(lambda: [Text("Here:"), drawn, "end"])
    assert [type(block) for block in mixed.content] == [Text, Image, Text]


def test_content_of_an_output_is_shown_and_its_own_artifact_and_details_stay() -> None:
    frame = pd.DataFrame({"n": [1]})
    message = run(lambda: ToolOutput(frame, artifact="mine", details={"from": "store"}))
    assert (message.artifact, message.details["from"]) == ("mine", "store")
    assert rows_of(message) == [["n"], ["1"]] and "table" in message.details
