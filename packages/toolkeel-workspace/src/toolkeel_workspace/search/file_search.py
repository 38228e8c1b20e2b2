"""Search in documents: in stores of this machine, or of the provider."""

from __future__ import annotations

import functools
import heapq
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from toolkeel._common.checked_arguments import checked
from toolkeel.context import ToolContext
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool
from toolkeel.effects import Effects
from toolkeel.errors import SetupError, ToolError
from toolkeel.hosted import Hosted, Native, Where
from toolkeel.messages import ToolOutput
from toolkeel_workspace.search.filters import compile_filter, normalize_filter
from toolkeel_workspace.search.open_store import (
    hide_passwords,
    is_store_address,
    open_store,
    resolve_store_path,
)
from toolkeel_workspace.search.ranking import Hit, Ranking, search_store
from toolkeel_workspace.search.stores import Embedder, Store

MAX_RESULTS = 50
DEFAULT_RESULTS = 8
"""Default number of passages."""


@checked
class FileSearchTool:
    """Search in vector stores, with the parameters of the OpenAI Agents SDK.

    A store is a file made by ``toolkeel index`` or a `VectorStore`, or on a server (see
    `toolkeel_workspace.search.open_store`). If all named stores are such, they are searched from here, with any
    model; otherwise OpenAI's Responses API is sent its own tool, with the ids of its own stores.

    Args:
        vector_store_ids: The stores: names, paths, addresses, store objects, or ids of the
            provider's stores.
        max_num_results: Most passages, from 1 to 50; 8 by default.
        include_search_results: Give the program the passages, too, in the result's artifact or the
            provider's item (see `toolkeel.builtin.hosted_calls`).
        ranking_options: ``score_threshold`` from 0 to 1, and ``hybrid_search`` with
            ``embedding_weight`` and ``text_weight``; a dict or an object with these attributes.
        filters: Which files are searched: see `toolkeel_workspace.search.filters`.
        where: ``auto``, ``provider`` or ``local``.
        embedder: Makes vectors of queries, for stores with vectors.
        results: ``"ours"`` if no stranger writes what the documents say; else passages count as
            private and as a stranger's text.

    Raises:
        SetupError: if a parameter is invalid.
    """

    def __init__(
        self,
        vector_store_ids: Sequence[str | PathLike[str] | Store],
        max_num_results: int | None = None,
        include_search_results: bool = False,
        ranking_options: object = None,
        filters: object = None,
        *,
        where: Where = "auto",
        embedder: Embedder | None = None,
        results: Literal["ours"] | None = None,
    ) -> None:
        if isinstance(vector_store_ids, str | bytes | PathLike) or not vector_store_ids:
            raise SetupError("FileSearchTool(vector_store_ids=...): give a list of stores")
        if max_num_results is not None and not 1 <= max_num_results <= MAX_RESULTS:
            raise SetupError(f"max_num_results={max_num_results}: from 1 to {MAX_RESULTS}")
        # A path stays one, even if it looks like a name.
        self.vector_store_ids = [
            str(Path(id).absolute()) if isinstance(id, PathLike) else id for id in vector_store_ids
        ]
        self.max_num_results = max_num_results
        self.include_search_results = include_search_results
        self.ranking_options = ranking_options
        self.filters = filters
        self.where: Where = where
        self._embedder, self._is_ours = embedder, results == "ours"
        compile_filter(filters)
        self._ranking = _parse_ranking(ranking_options)
        self._stores: dict[str, Store] = {}
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The tool's name."""
        return "file_search"

    def __repr__(self) -> str:
        return f"FileSearchTool({[_get_display_name(id) for id in self.vector_store_ids]!r})"

    @functools.cached_property
    def tool(self) -> AnyTool:
        """The tool, and its hosted counterpart of a provider with stores of its own."""
        where = self.where
        ours = [
            id for id in self.vector_store_ids if not isinstance(id, str) or is_store_address(id)
        ]
        others = [id for id in self.vector_store_ids if id not in ours]
        if where == "auto" and all(resolve_store_path(str(id)).is_file() for id in others):
            where = "local"
        if ours and where != "local":
            raise SetupError(
                f"FileSearchTool: {_get_display_name(ours[0])!r} is searched from here, {others or where!r}"
                " by the provider: make a tool of each"
            )
        return tool(
            "file_search",
            effects=Effects(
                read_only=True, open_world=False, private=True, stranger=not self._is_ours
            ),
            hosted=Hosted({"openai-responses": self._make_native()}, where),
            max_output=None,
        )(self._run_search)

    def search(self, query: str) -> list[Hit]:
        """Return the passages that best answer a query, the best first, as the tool does.

        Raises:
            ToolError: if a store is missing.
        """
        limit = self.max_num_results or DEFAULT_RESULTS
        lists = [
            search_store(self._open_store(id), [query], limit, self._ranking, self.filters)
            for id in self.vector_store_ids
        ]
        if len(lists) == 1:
            return lists[0]
        ranked = [(hit.score, -place, hit) for hits in lists for place, hit in enumerate(hits)]
        return [hit for *_, hit in heapq.nlargest(limit, ranked, key=lambda entry: entry[:2])]

    def _open_store(self, id: str | Store) -> Store:
        if not isinstance(id, str):
            return id
        with self._lock:
            if id not in self._stores:
                try:
                    self._stores[id] = open_store(id, self._embedder)
                except SetupError as error:
                    message = f"The store {hide_passwords(id)!r} cannot be searched: {error}."
                    raise ToolError(message) from None
            return self._stores[id]

    def _run_search(self, query: str, context: ToolContext) -> ToolOutput:
        """Search the indexed documents for passages that answer a question.

        Args:
            query: A question or the words to look for.
        """
        if not query.strip():
            raise ToolError("The query is empty.")
        hits = self.search(query)
        item: dict[str, Any] = {
            "type": "file_search_call",
            "id": context.tool_call_id,
            "status": "completed",
            "queries": [query],
            "results": [_make_result_item(hit) for hit in hits]
            if self.include_search_results
            else None,
        }
        return ToolOutput(_format_passages(query, hits), item, {"found": len(hits)})

    def _make_native(self) -> Native:
        body: dict[str, Any] = {
            "type": "file_search",
            "vector_store_ids": [str(id) for id in self.vector_store_ids],
        }
        if self.max_num_results is not None:
            body["max_num_results"] = self.max_num_results
        options = _parse_ranking_options(self.ranking_options)
        if options:
            body["ranking_options"] = options
        if self.filters is not None:
            body["filters"] = dict(normalize_filter(self.filters))
        results = ("file_search_call.results",) if self.include_search_results else ()
        return Native(body, include=results)


def _get_display_name(id: str | Store) -> str:
    return hide_passwords(id if isinstance(id, str) else id.name)


def _make_result_item(hit: Hit) -> dict[str, Any]:
    """Convert a passage to OpenAI's form."""
    return {
        "file_id": hit.file_id,
        "filename": hit.filename,
        "score": hit.score,
        "text": hit.text,
        "attributes": dict(hit.attributes),
    }


def _format_passages(query: str, hits: Sequence[Hit]) -> str:
    if not hits:
        return f"No passage was found for {query!r}. Try other words."
    parts = []
    for number, hit in enumerate(hits, 1):
        under = f" > {hit.heading}" if hit.heading else ""
        parts.append(f"[{number}] {hit.filename}{under} (score {hit.score:.2f})\n{hit.text}")
    return "\n\n".join(parts)


def _parse_ranking_options(options_given: object) -> dict[str, Any]:
    """Convert ranking options to a dict, without missing values.

    Raises:
        SetupError: for an unknown key.
    """
    if options_given is None:
        return {}
    names = ("ranker", "score_threshold", "hybrid_search")
    options: Mapping[str, Any]
    if isinstance(options_given, Mapping):
        options = options_given
    else:
        options = {name: getattr(options_given, name, None) for name in names}
    if unknown := set(options) - {*names}:
        raise SetupError(f"ranking_options: no key {min(map(str, unknown))!r}; there are {names}")
    return {key: value for key, value in options.items() if value is not None}


def _parse_ranking(given: object) -> Ranking:
    options = _parse_ranking_options(given)
    threshold = options.get("score_threshold", 0.0)
    weights = options.get("hybrid_search") or {}
    usual = Ranking()
    text = weights.get("text_weight", usual.text_weight)
    meaning = weights.get("embedding_weight", usual.embedding_weight)
    if not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise SetupError(f"ranking_options: score_threshold={threshold!r} is not from 0 to 1")
    if min(text, meaning) < 0 or text + meaning <= 0:
        raise SetupError("ranking_options: the weights of hybrid_search must not be negative")
    return Ranking(float(text), float(meaning), float(threshold))
