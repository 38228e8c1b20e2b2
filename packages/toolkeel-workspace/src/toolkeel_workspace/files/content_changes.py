"""How a call changes the content of a file, and what is said of the content it replaced."""

from __future__ import annotations

from typing import Any

from toolkeel.errors import ToolError
from toolkeel_workspace.files.binary_kind import find_binary_kind
from toolkeel_workspace.files.changed_since_read import MAX_FILE_BYTES
from toolkeel_workspace.files.edit import apply_changes, describe_kept, parse_changes
from toolkeel_workspace.files.encodings import decode_text
from toolkeel_workspace.files.line_window import format_size, pluralize
from toolkeel_workspace.files.preview import ContentChange


def make_edit(path: str, **texts: Any) -> ContentChange:
    """Return how a call of ``edit`` changes the content of its file."""

    def apply_edits(before: bytes | None) -> bytes:
        if before is None:
            raise ToolError(f"{path!r} does not exist.")
        return apply_changes(before, parse_changes(**texts), path).data

    return apply_edits


def make_write(path: str, content: str) -> ContentChange:
    """Return how a call of ``write`` changes the content of its file."""
    check_file_name(path)
    data = _encode_content(content)
    return lambda before: data


def check_file_name(path: str) -> None:
    """Check that a path may be that of a new file.

    Raises:
        ToolError: it ends with a slash.
    """
    if path.strip().endswith(("/", "/.")):
        raise ToolError(f"{path!r} names a folder. Give the path of a file; its folders are made.")


def _encode_content(content: str) -> bytes:
    try:
        data = content.encode()
    except UnicodeEncodeError:
        raise ToolError("content holds half of a surrogate pair, which is no text.") from None
    if len(data) > MAX_FILE_BYTES:
        raise ToolError(
            f"content has {format_size(len(data))}; at most {format_size(MAX_FILE_BYTES)} is written."
        )
    return data


def describe_updated(before: bytes | None, data: bytes) -> str:
    """Describe what stays as it is in a file of which a part was changed, as the end of a sentence."""
    if before is None:
        return ""
    return describe_kept(decode_text(before), decode_text(data).text)


def describe_replaced(before: bytes | None, data: bytes, was_read: bool) -> str:
    """Describe what a file held that was replaced, as the end of a sentence.

    Args:
        before: Its content; None if it did not exist.
        data: The new content.
        was_read: False if the model has never read or written it.

    Returns:
        An empty string for a new file.
    """
    if before is None:
        return ""
    if before == data:
        return "; it had this content already"
    if kind := find_binary_kind(before):
        what = f"{kind.partition(',')[0]}, {format_size(len(before))}"
    else:
        decoded = decode_text(before)
        lines = decoded.text.count("\n") + (not decoded.text.endswith("\n") and bool(before))
        what = f"{pluralize(lines, 'line')}, {format_size(len(before))}"
        what += f", {decoded.description}" if decoded.description else ""
        had_crlf = "\r\n" in decoded.text and b"\r\n" not in data and b"\n" in data
        what += ", lines ended with CRLF" if had_crlf else ""
        what += ", lines ended with CR" if decoded.has_cr_lines else ""
    unread = "" if was_read else " that had not been read"
    return f"; it replaced a file{unread}: {what}"
