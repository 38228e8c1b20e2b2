"""Pictures and files in prompts, under the names of Pydantic AI: the core's blocks, and their JSON."""

from __future__ import annotations

import base64
import hashlib
import mimetypes
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from toolkeel.content import Audio, Block, File, Image, Text
from toolkeel.errors import SetupError

__all__ = ["BinaryContent", "BinaryImage", "DocumentUrl", "ImageUrl"]


def BinaryContent(  # noqa: N802
    data: bytes,
    *,
    media_type: str,
    identifier: str | None = None,
    vendor_metadata: Mapping[str, Any] | None = None,
) -> Block:
    """Return a picture, a recording or a file of its bytes, by its media type.

    Args:
        data: The bytes.
        media_type: What they are, such as ``image/png``.
        identifier: Refused: no request has it.
        vendor_metadata: Further keys for the provider.

    Raises:
        SetupError: An identifier is given.
    """
    _refuse_identifier("BinaryContent", identifier)
    extra = dict(vendor_metadata or {})
    kind = media_type.partition("/")[0]
    if kind == "image":
        return Image(data, media_type, extra=extra)
    return (
        Audio(data, media_type, extra)
        if kind == "audio"
        else File(data, "file", media_type, extra=extra)
    )


BinaryImage = BinaryContent


def ImageUrl(url: str, *, media_type: str | None = None, **options: Any) -> Image:  # noqa: N802
    """Return a picture by its address.

    Args:
        url: The address.
        media_type: What it is; guessed by default.
        options: ``vendor_metadata``; ``force_download`` and ``identifier`` are refused.

    Raises:
        SetupError: The picture shall be downloaded first, or has an identifier.
    """
    kind = media_type or _guess_type(url) or "image/png"
    return Image(b"", kind, url, _read_options("ImageUrl", options))


def DocumentUrl(url: str, *, media_type: str | None = None, **options: Any) -> File:  # noqa: N802
    """Return a file by its address.

    Args:
        url: The address.
        media_type: What it is; guessed by default.
        options: ``vendor_metadata``; ``force_download`` and ``identifier`` are refused.

    Raises:
        SetupError: The file shall be downloaded first, or has an identifier.
    """
    kind = media_type or _guess_type(url) or "application/pdf"
    return File(b"", "file", kind, url, _read_options("DocumentUrl", options))


def _guess_type(url: str) -> str | None:
    """Return the media type that the path of an address ends with; None if it is unknown."""
    return mimetypes.guess_type(urlsplit(url).path)[0]


def _refuse_identifier(name: str, identifier: object) -> None:
    if identifier is not None:
        raise SetupError(
            f"{name}(identifier=...): no request has it; write it as text beside the content"
        )


def _read_options(name: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the provider gets beside an address.

    Raises:
        SetupError: It shall be downloaded first, or has an identifier.
        TypeError: An option is unknown.
    """
    if options.get("force_download"):
        raise SetupError(f"{name}(force_download=True): read the bytes, and give BinaryContent")
    if strange := sorted(options.keys() - {"vendor_metadata", "identifier", "force_download"}):
        raise TypeError(f"{name} has no option {strange[0]!r}")
    _refuse_identifier(name, options.get("identifier"))
    return dict(options.get("vendor_metadata") or {})


def write_part(part: object) -> object:
    """Return a part of a prompt as JSON has it: media as Pydantic AI writes them, anything else as it is."""
    if isinstance(part, Text):
        return part.text
    if not isinstance(part, Image | Audio | File):
        return part
    about = {"vendor_metadata": dict(part.extra) or None, "media_type": part.media_type}
    url = "" if isinstance(part, Audio) else part.url
    if url:
        kind = "image-url" if isinstance(part, Image) else "document-url"
        return {
            "url": url,
            "force_download": False,
            "kind": kind,
            "identifier": _name(url.encode()),
            **about,
        }
    text = base64.b64encode(part.data).decode()
    return {"data": text, "kind": "binary", "identifier": _name(part.data), **about}


def read_part(part: object) -> object:
    """Return the block of a part that `write_part` or Pydantic AI wrote; anything else as it is.

    Raises:
        ValueError: Its bytes are no base64, or it is a sound or a film by its address.
    """
    kind = part.get("kind") if isinstance(part, Mapping) else None
    if not isinstance(part, Mapping) or kind is None:
        return part
    media_type, extra = part.get("media_type"), part.get("vendor_metadata")
    if kind == "binary":
        data = base64.b64decode(str(part.get("data")), validate=False)
        return BinaryContent(data, media_type=str(media_type), vendor_metadata=extra)
    makers: Mapping[object, Any] = {"image-url": ImageUrl, "document-url": DocumentUrl}
    if kind not in makers:
        raise ValueError(f"a part of kind {kind!r} is no part of a prompt here: give its bytes")
    return makers[kind](str(part.get("url")), media_type=media_type, vendor_metadata=extra)


def _name(data: bytes) -> str:
    """Return the name of content: the beginning of its hash."""
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()[:6]
