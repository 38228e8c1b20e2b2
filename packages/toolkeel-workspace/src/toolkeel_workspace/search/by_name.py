"""The file search tool by names alone, for the command line."""

from __future__ import annotations

from typing import Any

from toolkeel.define.tool import AnyTool
from toolkeel.errors import SetupError
from toolkeel_workspace.search.embeddings import OPENAI_URL, Embeddings
from toolkeel_workspace.search.file_search import DEFAULT_RESULTS, MAX_RESULTS, FileSearchTool


def tools(
    stores: str = "",
    embeddings: str = "",
    base_url: str = "",
    max_num_results: int | str = DEFAULT_RESULTS,
    **options: Any,
) -> tuple[AnyTool, ...]:
    """Create the file search tool. The command line passes all parameters as text.

    Args:
        stores: The stores, separated by commas.
        embeddings: The embedding model of their vectors; empty: words alone.
        base_url: Its server, including ``/v1``; OpenAI's by default.
        max_num_results: Most passages.
        options: Further parameters of `FileSearchTool`.

    Raises:
        SetupError: if no store is named, or a parameter is invalid.
    """
    ids = [id.strip() for id in stores.split(",") if id.strip()]
    if not ids:
        raise SetupError("file_search needs a store: file_search:stores=docs")
    if not str(max_num_results).isdecimal():
        raise SetupError(f"max_num_results={max_num_results}: from 1 to {MAX_RESULTS}")
    if embeddings:
        options["embedder"] = Embeddings(embeddings, base_url or OPENAI_URL)
    return (FileSearchTool(ids, int(max_num_results), **options).tool,)
