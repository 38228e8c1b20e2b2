"""Vectors of texts, from any server with a ``/v1/embeddings`` endpoint.

Source: https://platform.openai.com/docs/api-reference/embeddings.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from ssl import SSLContext
from typing import TypeAlias

from toolkeel._common.checked_arguments import checked
from toolkeel._common.needs_extra import needs_extra
from toolkeel.errors import SetupError, ToolError
from toolkeel.providers.wire.plain_json import as_dict, as_list
from toolkeel_workspace.web.bounded_decompression import Decompressor
from toolkeel_workspace.web.service import is_local, parse_json

with needs_extra("embeddings", "search"):
    import httpx2
    import numpy as np
    from numpy.typing import NDArray

Matrix: TypeAlias = "NDArray[np.float32]"
OPENAI_URL = "https://api.openai.com/v1"
BATCH_SIZE = 64
"""Texts per request."""
MAX_RESPONSE_BYTES = 64 << 20
"""Most bytes of a response, which has vectors as decimal digits."""
MAX_TEXT_CHARS = 8000
"""Most characters of one text that are sent."""


@checked
class Embeddings:
    """An embedding model on an OpenAI-compatible server.

    Args:
        model: Its name there.
        base_url: The server's address, including ``/v1``; OpenAI's by default.
        api_key: By default ``OPENAI_API_KEY`` for OpenAI's server; others may need none.
        dimensions: Length of the vectors, if the model can shorten them.
        timeout: Seconds for one batch.

    Raises:
        SetupError: if there is no key for OpenAI's server.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        base_url: str = OPENAI_URL,
        api_key: str = "",
        *,
        dimensions: int | None = None,
        timeout: float = 60,
    ) -> None:
        self.model = model
        self.base_url = base_url.rstrip("/")
        ours = self.base_url == OPENAI_URL
        key = api_key or (os.environ.get("OPENAI_API_KEY", "") if ours else "")
        if ours and not key:
            raise SetupError(f"Embeddings({model!r}): no API key; set OPENAI_API_KEY or pass one")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._dimensions = dimensions
        self._timeout = timeout

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of texts. See `toolkeel_workspace.search.stores.Embedder`."""
        if not texts:
            return np.zeros((0, 0), np.float32)
        # Texts of a length go together: servers pad those of a batch to the longest.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        with httpx2.Client(
            headers={"Accept-Encoding": "gzip"},
            timeout=self._timeout,
            trust_env=not is_local(self.base_url),
            verify=self._ssl_context,
        ) as client:
            rows = [
                self._embed_batch(client, [texts[at] for at in order[first : first + BATCH_SIZE]])
                for first in range(0, len(texts), BATCH_SIZE)
            ]
        return normalize_rows(np.concatenate(rows)[np.argsort(order)])

    @cached_property
    def _ssl_context(self) -> SSLContext:
        """The trusted certificates; loading them takes longer than a query."""
        return httpx2.create_ssl_context()

    def _embed_batch(self, client: httpx2.Client, texts: Sequence[str]) -> Matrix:
        body: dict[str, object] = {
            "model": self.model,
            "input": [_prepare_text(text) for text in texts],
        }
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        try:
            url = f"{self.base_url}/embeddings"
            with client.stream("POST", url, json=body, headers=self._headers) as response:
                decompressor = Decompressor(
                    response.headers.get("content-encoding", ""), MAX_RESPONSE_BYTES
                )
                data = b"".join(
                    one for raw in response.iter_raw() for one in decompressor.feed(raw)
                )
        except (httpx2.HTTPError, ValueError) as error:
            raise ToolError(f"The embedding server cannot be asked ({error}).") from None
        if not response.is_success:
            message = data.decode("utf-8", "replace")[:200]
            raise ToolError(f"The embedding server answered {response.status_code}: {message}")
        return _parse_matrix(
            as_dict(parse_json("The embedding server", data)).get("data"), len(texts)
        )


def _prepare_text(text: str) -> str:
    """Shorten a text; replace an empty one, which some servers refuse."""
    return text[:MAX_TEXT_CHARS] if text.strip() else " . "


def _parse_matrix(data: object, count: int) -> Matrix:
    rows = [as_dict(one) for one in as_list(data)]
    rows.sort(key=lambda row: index if isinstance(index := row.get("index"), int) else 0)
    try:
        made = np.array([row["embedding"] for row in rows], np.float32)
    except (KeyError, ValueError, TypeError):
        made = np.zeros((0, 0), np.float32)
    if made.ndim != 2 or len(made) != count:
        raise ToolError("The embedding server sent an answer this tool cannot read.")
    return made


def normalize_rows(rows: Matrix) -> Matrix:
    """Scale rows to length 1, so that the product of two is their cosine; zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    made: Matrix = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return made
