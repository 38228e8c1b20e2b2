"""Meaning as numbers: vectors of texts, from any server with a ``/v1/embeddings`` endpoint.

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
from toolkeel_workspace.web.bounded_decompression import Inflater
from toolkeel_workspace.web.service import is_local, json_of

with needs_extra("embeddings", "search"):
    import httpx2
    import numpy as np
    from numpy.typing import NDArray

Matrix: TypeAlias = "NDArray[np.float32]"
OPENAI_URL = "https://api.openai.com/v1"
BATCH = 64
"""How many texts are sent at once."""
MOST = 64 << 20
"""Most bytes of an answer, which tells each vector in digits."""
MAX_TEXT = 8000
"""Most characters of one text that are sent."""


@checked
class Embeddings:
    """An embedding model behind an OpenAI-compatible server.

    Args:
        model: Its name there.
        base_url: Where the server is, ``/v1`` included; OpenAI's by default.
        api_key: The environment's ``OPENAI_API_KEY`` for OpenAI's server; others may need none.
        dimensions: How long vectors shall be, if the model can shorten them.
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
        """See `toolkeel_workspace.search.vector_store.Embedder`."""
        if not texts:
            return np.zeros((0, 0), np.float32)
        # Texts of a length go together: servers pad those of a batch to the longest.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        with httpx2.Client(
            headers={"Accept-Encoding": "gzip"},
            timeout=self._timeout,
            trust_env=not is_local(self.base_url),
            verify=self._certificates,
        ) as client:
            rows = [
                self._batch(client, [texts[at] for at in order[first : first + BATCH]])
                for first in range(0, len(texts), BATCH)
            ]
        return normal(np.concatenate(rows)[np.argsort(order)])

    @cached_property
    def _certificates(self) -> SSLContext:
        """Whom to trust; reading that takes longer than a question."""
        return httpx2.create_ssl_context()

    def _batch(self, client: httpx2.Client, texts: Sequence[str]) -> Matrix:
        body: dict[str, object] = {"model": self.model, "input": [_sent(text) for text in texts]}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        try:
            url = f"{self.base_url}/embeddings"
            with client.stream("POST", url, json=body, headers=self._headers) as response:
                held = Inflater(response.headers.get("content-encoding", ""), MOST)
                data = b"".join(one for raw in response.iter_raw() for one in held.feed(raw))
        except (httpx2.HTTPError, ValueError) as error:
            raise ToolError(f"The embedding server cannot be asked ({error}).") from None
        if not response.is_success:
            said = data.decode("utf-8", "replace")[:200]
            raise ToolError(f"The embedding server answered {response.status_code}: {said}")
        return _matrix(as_dict(json_of("The embedding server", data)).get("data"), len(texts))


def _sent(text: str) -> str:
    """A text as it is sent: some servers refuse an empty one."""
    return text[:MAX_TEXT] if text.strip() else " . "


def _matrix(data: object, count: int) -> Matrix:
    rows = [as_dict(one) for one in as_list(data)]
    rows.sort(key=lambda row: index if isinstance(index := row.get("index"), int) else 0)
    try:
        made = np.array([row["embedding"] for row in rows], np.float32)
    except (KeyError, ValueError, TypeError):
        made = np.zeros((0, 0), np.float32)
    if made.ndim != 2 or len(made) != count:
        raise ToolError("The embedding server sent an answer this tool cannot read.")
    return made


def normal(rows: Matrix) -> Matrix:
    """The rows at length 1, so that a product of two is their cosine; zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    made: Matrix = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return made
