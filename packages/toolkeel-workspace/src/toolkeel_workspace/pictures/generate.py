"""Generate pictures: by OpenAI's own tool where available, else by any OpenAI-compatible endpoint.

Source: https://platform.openai.com/docs/api-reference/images/create.
"""

from __future__ import annotations

import base64
import binascii
import functools
import os
import secrets
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urljoin, urlsplit

from toolkeel._common.checked_arguments import checked
from toolkeel.content import Image, Text, detect_media_type
from toolkeel.context import ToolContext
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool
from toolkeel.effects import Effects
from toolkeel.errors import SetupError, ToolError
from toolkeel.hosted import Hosted, Native, Where
from toolkeel.messages import ToolOutput
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text
from toolkeel_workspace.pictures.too_large import check_picture
from toolkeel_workspace.web.service import parse_json, send_request

OPENAI_URL = "https://api.openai.com/v1"
MODEL = "gpt-image-1.5"
TIMEOUT = 180.0
"""Seconds for one picture."""
MAX_RESPONSE_BYTES = 64 << 20
"""Most bytes of an answer: a large picture, written as text."""
SERVICE_NAME = "The images server"

_ENDPOINT_KEYS = (
    "background",
    "moderation",
    "output_compression",
    "output_format",
    "quality",
    "size",
)
"""Configuration keys for an images endpoint; the others are for the hosted tool only."""
_KNOWN_KEYS = frozenset(
    [
        "type",
        "action",
        "complexity",
        "frame_count",
        "frame_duration_ms",
        "input_fidelity",
        "input_image_mask",
        "model",
        "partial_images",
        "svg",
    ]
).union(_ENDPOINT_KEYS)
_SUFFIXES: Mapping[str, str] = MappingProxyType(
    {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp", "image/gif": ".gif"}
)


@checked
class ImageGenerationTool:
    """Image generation, with the parameters of the OpenAI Agents SDK.

    Args:
        tool_config: The hosted tool's JSON, such as ``{"size": "1024x1024", "quality": "high"}``.
        where: ``auto``, ``provider`` or ``local``.
        base_url: The images endpoint's server, including ``/v1``; OpenAI's by default.
        api_key: By default ``OPENAI_API_KEY`` for OpenAI's server; others may need none.
        folder: Where pictures are also saved; None to save none.

    Raises:
        SetupError: if the configuration has an unknown key.
    """

    def __init__(
        self,
        tool_config: Mapping[str, Any] | None = None,
        *,
        where: Where = "auto",
        base_url: str = OPENAI_URL,
        api_key: str = "",
        folder: str | PathLike[str] | None = None,
    ) -> None:
        self.tool_config = dict(tool_config or {})
        if unknown := set(self.tool_config) - _KNOWN_KEYS:
            raise SetupError(
                f"tool_config: no key {min(unknown)!r}; there are {sorted(_KNOWN_KEYS)}"
            )
        self.where: Where = where
        self._url = base_url.rstrip("/")
        self._key = api_key
        self._folder = None if folder is None else Path(folder)

    @property
    def name(self) -> str:
        """The tool's name."""
        return "image_generation"

    def __repr__(self) -> str:
        return f"ImageGenerationTool({self.tool_config!r})"

    @functools.cached_property
    def tool(self) -> AnyTool:
        """The tool, and its hosted counterpart of a provider that generates pictures."""
        body = {**self.tool_config, "type": "image_generation"}
        return tool(
            "image_generation",
            effects=Effects(destructive=False, safe_after=("private", "stranger")),
            timeout=TIMEOUT,
            hosted=Hosted({"openai-responses": Native(body)}, self.where),
        )(self._generate)

    async def _generate(self, prompt: str, context: ToolContext) -> ToolOutput:
        """Make a picture from a description.

        Args:
            prompt: What the picture shows, and in which style.
        """
        if not prompt.strip():
            raise ToolError("The prompt is empty. Describe the picture.")
        context.progress("making a picture")
        made = await self._request_picture(prompt)
        data = await self._read_picture(made)
        kind = detect_media_type(data)
        if not kind.startswith("image/"):
            raise ToolError(f"The images server sent {kind}, which is no picture.")
        revised = as_text(made.get("revised_prompt"))
        path = self._save(data, kind)
        item: dict[str, Any] = {
            "type": "image_generation_call",
            "id": context.tool_call_id,
            "status": "completed",
            "result": base64.b64encode(data).decode(),
            "revised_prompt": revised or None,
            "output_format": kind.partition("/")[2],
        }
        note = f"[The picture was made: {check_picture(data, kind)}{f', {path}' if path else ''}]"
        details = {"bytes": len(data), "media_type": kind, "path": str(path) if path else None}
        return ToolOutput((Text(note), Image(data, kind)), item, details)

    async def _request_picture(self, prompt: str) -> Json:
        """Request one picture from the endpoint. Return its entry in the response."""
        body: Json = {"model": self.tool_config.get("model", MODEL), "prompt": prompt, "n": 1}
        body |= {key: self.tool_config[key] for key in _ENDPOINT_KEYS if key in self.tool_config}
        url = f"{self._url}/images/generations"
        answer = await self._request("POST", url, json=body, headers=self._headers())
        made = as_list(as_dict(parse_json(SERVICE_NAME, answer)).get("data"))
        if not made:
            raise ToolError("The images server sent no picture.")
        return as_dict(made[0])

    async def _request(self, method: str, url: str, **more: Any) -> bytes:
        """Send a request to the images server and return the response's body.

        Raises:
            ToolError: if the server refuses.
        """
        status, body = await send_request(
            SERVICE_NAME, method, url, TIMEOUT, max_bytes=MAX_RESPONSE_BYTES, **more
        )
        if status >= 300:
            raise ToolError(_describe_refusal(status, body))
        return body

    def _headers(self) -> dict[str, str]:
        key = self._key
        if self._url == OPENAI_URL:
            key = key or os.environ.get("OPENAI_API_KEY", "")
            if not key:
                raise SetupError("ImageGenerationTool: no API key; set OPENAI_API_KEY")
        return {"Authorization": f"Bearer {key}"} if key else {}

    async def _read_picture(self, made: Json) -> bytes:
        """Return the picture's bytes: from the response, or from an address on the same server."""
        encoded, url = as_text(made.get("b64_json")), as_text(made.get("url"))
        if encoded:
            try:
                return base64.b64decode(encoded, validate=True)
            except binascii.Error:
                raise ToolError("The images server sent a picture that is broken.") from None
        target = urljoin(f"{self._url}/", url)
        if not url or urlsplit(target)[:2] != urlsplit(self._url)[:2]:
            found = f"only an address elsewhere: {target}" if url else "no picture"
            raise ToolError(f"The images server sent {found}.")
        return await self._request("GET", target, headers=self._headers())

    def _save(self, data: bytes, kind: str) -> Path | None:
        if self._folder is None:
            return None
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"image-{secrets.token_hex(8)}{_SUFFIXES.get(kind, '')}"
        path.write_bytes(data)
        return path


def tools(**options: Any) -> tuple[AnyTool, ...]:
    """Return the tools of this file. See `ImageGenerationTool`."""
    return (ImageGenerationTool(**options).tool,)


def _describe_refusal(status: int, body: bytes) -> str:
    """Return the server's reason, so that the model can ask for another picture."""
    try:
        reason = as_text(
            as_dict(as_dict(parse_json(SERVICE_NAME, body)).get("error")).get("message")
        )
    except ToolError:
        reason = ""
    return f"The images server refused ({status}): {reason[:500] or 'no reason given'}"
