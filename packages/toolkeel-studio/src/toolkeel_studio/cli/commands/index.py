"""``toolkeel index``: put a folder into a vector store, for `FileSearchTool`."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolkeel.errors import SetupError, ToolError
from toolkeel.observe.wording import pretty
from toolkeel_studio.cli.terminal.streams import YELLOW, echo, is_interactive, note
from toolkeel_workspace.files.line_window import pluralize

if TYPE_CHECKING:
    from toolkeel_workspace.search.indexing import IndexReport, ProgressCallback

_SHOWN = 5


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What to index.")],
    store: Annotated[
        str,
        typer.Option(
            "--store", "-s", help="The store's name, path or address; the folder's name if none."
        ),
    ] = "",
    embeddings: Annotated[
        str, typer.Option("--embeddings", "-e", help="An embedding model; words alone if none.")
    ] = "",
    base_url: Annotated[
        str, typer.Option("--base-url", help="Its server, /v1 included; OpenAI's by default.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Index a folder of documents, to be searched.

    Text, Markdown, HTML, PDF and code. Only what changed since the last time is read again; what is gone is taken out.
    """
    from toolkeel_workspace.search import open_store
    from toolkeel_workspace.search.embeddings import OPENAI_URL, Embeddings
    from toolkeel_workspace.search.indexing import index_folder

    if not folder.is_dir():  # before a store is made for it
        raise SetupError(f"there is no folder {str(folder)!r} to index")
    id = store or _name_of(folder)
    path = _locate_store(id)
    embedder = Embeddings(embeddings, base_url or OPENAI_URL) if embeddings else None
    opened = open_store.open_store(id, embedder, create=True)
    try:
        with _progress() as told:
            report = index_folder(opened, folder, on_progress=told)
        passages = len(opened)
        model = opened.get_model()
        others = len(opened.list_files()) - report.added - report.changed - report.unchanged
    except ToolError as error:
        raise SetupError(error.text) from None
    finally:
        opened.close()
    _note_skipped(report)
    if others and not store:
        files = pluralize(others, "file")
        note(f"the store holds {files} of other folders, too: see --store", YELLOW)
    if model and not embeddings:
        note(f"the store has vectors of {model}: what is new has none without --embeddings", YELLOW)
    shown = open_store.hide_passwords(id)
    searched = shown if as_json else _searched(shown, embeddings, base_url)
    echo((_json if as_json else _report_text)(searched, path, passages, report))


def _note_skipped(report: IndexReport) -> None:
    """Name the first skipped files on stderr, and how many more there are."""
    for name, why in list(report.skipped.items())[:_SHOWN]:
        note(f"skipped {name}: {why}", YELLOW)
    if len(report.skipped) > _SHOWN:
        note(f"skipped {len(report.skipped) - _SHOWN} more", YELLOW)


def _name_of(folder: Path) -> str:
    """Return a folder's name, in the letters that a store's name may have."""
    return re.sub(r"[^\w.-]+", "-", folder.resolve().name).strip("-") or "docs"


def _locate_store(id: str) -> str:
    """Return the address of a store without its password, or the path of its file."""
    from toolkeel_workspace.search import open_store

    if open_store.is_store_address(id):
        return open_store.hide_passwords(id)
    return str(open_store.resolve_store_path(id))


def _searched(id: str, embeddings: str, base_url: str) -> str:
    """Return the target that names the store."""
    target = f"file_search:stores={id}"
    if embeddings:
        target += f",embeddings={embeddings}"
        target += f",base_url={base_url}" if base_url else ""
    return shlex.quote(target)


def _report_text(searched: str, path: str, passages: int, report: IndexReport) -> str:
    files = report.added + report.changed + report.unchanged
    return (
        f"{pluralize(files, 'file')}, {pluralize(passages, 'passage')} in {path}\n"
        f"{report.added} added, {report.changed} changed, {report.unchanged} unchanged, "
        f"{report.removed} removed, {len(report.skipped)} skipped\n"
        f'Search it: toolkeel run -t {searched} "..."'
    )


def _json(id: str, path: str, passages: int, report: IndexReport) -> str:
    return pretty(
        {
            "store": id,
            "path": path,
            "passages": passages,
            "added": report.added,
            "changed": report.changed,
            "unchanged": report.unchanged,
            "removed": report.removed,
            "skipped": dict(report.skipped),
        }
    )


@contextmanager
def _progress() -> Iterator[ProgressCallback | None]:
    """Show a progress bar on stderr if it is a terminal."""
    if not is_interactive(sys.stderr):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("Indexing"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[name]}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Indexing", total=None, name="")

        def shown(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, name=name[-40:])

        yield shown
