"""Text of HTML, Markdown, PDF, plain text and code files.

What a page hides from people (see `hidden_html`; scripts, comments) is removed, with a note on how much
at the end.
"""

from __future__ import annotations

import codecs
import re
from typing import Any

from toolkeel._common.needs_extra import needs_extra
from toolkeel._records.record import record
from toolkeel.content import detect_media_type
from toolkeel.errors import MissingExtraError, ToolError
from toolkeel_workspace.sandbox.isolated_decode import decode_file as decode_apart
from toolkeel_workspace.sandbox.isolated_decode import package_folder
from toolkeel_workspace.search.hidden_html import remove_hidden, remove_invisible_characters

with needs_extra("reading web pages and documents", "web"):
    import html_to_markdown

_PYPDF = package_folder("pypdf")  # now, before a model can write a package of that name
MAX_PDF_PAGES = 2000
"""Most pages of a PDF."""
MAX_PDF_CHARS = 20_000_000
"""Most characters of a PDF."""
PDF_SECONDS = 60.0
"""Seconds after which no further page of a PDF is started."""
_PDF_STREAM = 8_000_000
_PDF_LIMITS: dict[str, Any] = {
    "zlib_maximum_output_length": _PDF_STREAM,
    "lzw_maximum_output_length": _PDF_STREAM,
    "run_length_maximum_output_length": _PDF_STREAM,
    "array_based_stream_maximum_output_length": _PDF_STREAM,
    "stream_decoding_work_maximum_length": 4 * _PDF_STREAM,
    "stream_parsing_work_maximum_count": 250_000,
    "page_tree_maximum_entries": 20_000,
    "xform_maximum_invocations_per_extraction": 1_000,
}
"""Limits of pypdf: decompressed bytes and work for one part of a PDF."""

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS = re.compile(
    r"text/.+|application/(.+\+)?(json|xml|yaml|toml|javascript|x-sh|x-ndjson|jsonl|sql|rtf)"
)
MAX_AMPERSANDS = 200_000
"""Most ``&`` of a page: the converter takes quadratic time for them, minutes for those of 5 MB."""
_META = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_LOOKS_HTML = re.compile(
    rb"\s*(?:(?><!--.{0,500}?-->)\s*)*+<(!doctype\s+html|html|head|body)\b", re.I | re.S
)
# Python's own codecs, which are no charsets of documents.
_NON_CHARSETS = frozenset(("idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"))
_SUPERSETS = {"gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252", "ascii": "cp1252"}
"""Declared encodings that stand for a superset (WHATWG Encoding, section 4.2)."""
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@record
class Document:
    """A document's text.

    Args:
        text: Markdown if it was HTML; pages of a PDF are separated by form feeds.
        title: The document's own; empty if it has none.
        kind: ``html``, ``pdf`` or ``text``.
    """

    text: str
    title: str = ""
    kind: str = "text"


def read_document(
    data: bytes, media_type: str = "", charset: str = "", base_url: str = ""
) -> Document:
    """Read the text of a file or a page.

    Args:
        data: Its bytes.
        media_type: The declared type; empty to detect it.
        charset: The declared encoding; empty to detect it.
        base_url: Base of relative links.

    Raises:
        ToolError: if it contains no text, or cannot be read.

    >>> read_document("<html><title>天气</title><p>晴 <b>25</b>".encode()).text
    '晴 **25**'
    """
    if data.startswith(b"%PDF-"):
        return Document(_remove_invisible("\f".join(_read_pdf_pages(data))), kind="pdf")
    if media_type in _HTML or (not _TEXTS.fullmatch(media_type) and _LOOKS_HTML.match(data)):
        return _read_html(decode_bytes(data, charset), base_url)
    if not is_text(data, media_type):
        kind = media_type or detect_media_type(data)
        raise ToolError(f"It is {kind}, {len(data):,} bytes: no text can be read from it.")
    return Document(_remove_invisible(decode_bytes(data, charset)))


def _remove_invisible(text: str) -> str:
    """Remove invisible characters and note how many there were."""
    text, hidden = remove_invisible_characters(text)
    return text + _describe_hidden(hidden)


def _describe_hidden(hidden: int) -> str:
    return f"\n\n[Left out: {hidden} characters that people do not see.]" if hidden else ""


def is_text(data: bytes, media_type: str = "") -> bool:
    """Return true if bytes are text, by the declared type or by how they start."""
    if media_type not in ("", "application/octet-stream"):
        return _TEXTS.fullmatch(media_type) is not None
    head = data[:8192]
    if any(head.startswith(bom) for bom, _ in _BOMS):
        return True
    return b"\0" not in head and detect_media_type(head) == "application/octet-stream"


def decode_bytes(data: bytes, charset: str = "") -> str:
    """Decode bytes: by their byte order mark, by the declared encoding, as UTF-8, or as GB 18030.

    >>> decode_bytes("北京".encode("gbk"), "gb2312")
    '北京'
    """
    for bom, name in _BOMS:
        if data.startswith(bom):
            return data.decode(name if name != "utf-8" else "utf-8-sig", "replace")
    declared = _META.search(data[:2048])
    for name in (charset, declared[1].decode("ascii", "replace") if declared else ""):
        known = _find_codec(name)
        if known:
            return data.decode(known, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        return data.decode("gb18030")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def _find_codec(name: str) -> str:
    try:
        found = codecs.lookup(name.strip().lower()).name if name else ""
        "".encode(found or "utf-8", "replace")  # those of bytes, such as "hex", are none of texts
    except (LookupError, ValueError):
        return ""
    return "" if found in _NON_CHARSETS else _SUPERSETS.get(found, found)


def _read_html(text: str, base_url: str) -> Document:
    options = html_to_markdown.ConversionOptions(
        skip_images=True,
        base_url=base_url or None,
        max_depth=200,
        preprocessing=html_to_markdown.PreprocessingOptions(preset="standard"),
    )
    text, hidden = remove_hidden(text)
    if text.count("&") > MAX_AMPERSANDS:
        raise ToolError(f"The page cannot be read: it has more than {MAX_AMPERSANDS:,} '&'.")
    try:
        result = html_to_markdown.convert(text, options)
    except html_to_markdown.ConversionError as error:
        raise ToolError(f"The page cannot be read ({error}).") from None
    head = result.metadata.document
    title, _ = remove_invisible_characters((head.title or "").strip() if head is not None else "")
    body = re.sub(r"\A---\n.*?\n---\n", "", result.content or "", count=1, flags=re.S)
    body, written = remove_invisible_characters(
        body
    )  # they may have been written as references, such as &#8203;
    hidden += written
    return Document(body.strip() + _describe_hidden(hidden), title, "html")


def _read_pdf_pages(data: bytes) -> list[str]:
    if not _PYPDF:
        raise MissingExtraError("reading PDF files", "search")
    order = {"kind": "pdf", "pages": MAX_PDF_PAGES, "text": MAX_PDF_CHARS, "seconds": PDF_SECONDS}
    told, _ = decode_apart({**order, "limits": _PDF_LIMITS}, data, _PYPDF)
    pages = told.get("pages")
    if not isinstance(pages, list):
        raise ToolError(f"The PDF cannot be read ({told.get('error', 'no pages')!s:.300}).")
    return [str(page) for page in pages]
