"""File search by names alone, as the command line has them."""

from __future__ import annotations

from typing import Any

from toolkeel.define.tool import AnyTool
from toolkeel.errors import SetupError
from toolkeel_workspace.search.embeddings import OPENAI_URL, Embeddings
from toolkeel_workspace.search.file_search import MAX_RESULTS, RESULTS, FileSearchTool


def tools(
    stores: str = "",
    embeddings: str = "",
    base_url: str = "",
    max_num_results: int | str = RESULTS,
    **options: Any,
) -> tuple[AnyTool, ...]:
    """The tools of this file; the command line gives all of it as text.

    Args:
        stores: Which stores, with commas between.
        embeddings: The embedding model whose vectors they have; empty: words alone.
        base_url: Its server, ``/v1`` included; OpenAI's by default.
        max_num_results: Most passages.
        options: Further parameters of `FileSearchTool`.

    Raises:
        SetupError: if no store is named, or a parameter will not do.
    """
    ids = [id.strip() for id in stores.split(",") if id.strip()]
    if not ids:
        raise SetupError("file_search needs a store: file_search:stores=docs")
    if not str(max_num_results).isdecimal():
        raise SetupError(f"max_num_results={max_num_results}: from 1 to {MAX_RESULTS}")
    if embeddings:
        options["embedder"] = Embeddings(embeddings, base_url or OPENAI_URL)
    return (FileSearchTool(ids, int(max_num_results), **options).tool,)
