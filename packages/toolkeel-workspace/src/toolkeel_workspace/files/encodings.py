r"""The encoding of a text file: one decision, used by every tool that reads or changes files.

A byte order mark and valid UTF-8 are certain, and so are the escape sequences of ISO-2022-JP. A file
that is UTF-8 except for a few bytes (cut in the middle of a character, or with a stray byte) is UTF-8;
its odd bytes are lone surrogates in the text, which encode to the same bytes, and are shown as U+FFFD.
Anything else is a guess of chardet, with its confidence: tools report it as a guess, and
`encode_changed` refuses to write new characters by a weak one. Of three detectors, chardet decided most
files of the tests' corpus correctly, and its confidence separates right from wrong.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from toolkeel.errors import ToolError
from toolkeel_workspace.files.binary_kind import UTF_16_MARKS, is_utf_16
from toolkeel_workspace.files.line_window import pluralize

_BOM = "\ufeff"
_SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    rb"|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}"
    rb"|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
_CUT_START = re.compile(rb"[\x80-\xbf]{1,3}")
_CUT_END = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{1,2})\Z")
_ISO_2022 = re.compile(rb"\x1b(?:\$[@B]|\$\(D|\(J)")
_HIGH = re.compile(rb"[\x80-\xff]+")
_LATIN_WORDS = re.compile(rb"[A-Za-z][\x80-\xff]+|[\x80-\xff]+[A-Za-z]")
_LATIN = re.compile(
    r"(?:[\x00-\x7f]|[^\W\d_]|[\u2018-\u201e\u20ac\u2013\u2014\u2026\xa0-\xab\xae-\xb1\xb4\xb5\xb7\xba\xbb])*"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_AFTER_ODD = re.compile("[\ud800-\udfff][0-\ud7ff\ue000-\U0010ffff]")
ENCODING_NAMES = {
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "iso2022_jp": "ISO-2022-JP",
    "gbk": "GBK",
    "gb18030": "GB18030",
    "big5": "Big5",
    "big5hkscs": "Big5-HKSCS",
    "cp932": "Shift JIS",
    "euc_jp": "EUC-JP",
    "euc_jis_2004": "EUC-JIS-2004",
    "euc_kr": "EUC-KR",
    "cp949": "Windows-949",
    "johab": "Johab",
    "koi8-r": "KOI8-R",
    "koi8-u": "KOI8-U",
    "cp1251": "Windows-1251",
    "cp866": "DOS 866",
    "iso8859-5": "ISO-8859-5",
    "mac-cyrillic": "Mac Cyrillic",
    "cp1250": "Windows-1250",
    "iso8859-2": "ISO-8859-2",
    "cp1252": "Windows-1252",
    "iso8859-15": "ISO-8859-15",
    "mac-roman": "Mac Roman",
    "cp437": "DOS 437",
    "cp850": "DOS 850",
    "cp1253": "Windows-1253",
    "cp1254": "Windows-1254",
    "cp1255": "Windows-1255",
    "cp1256": "Windows-1256",
    "cp1257": "Windows-1257",
    "cp1258": "Windows-1258",
    "cp874": "Windows-874",
}
"""Names of encodings other than UTF-8, for people."""
_NARROW = {"gb18030": "gbk", "big5hkscs": "big5", "euc_jis_2004": "euc_jp", "cp949": "euc_kr"}
"""Subsets, tried first: what a file is written in may lack characters that only its superset has."""
_WIDER = {narrow: wide for wide, narrow in _NARROW.items()}
_SAME = {"iso8859-1": "cp1252", "euc_kr": "cp949", "tis-620": "cp874"}
_MULTIBYTE = {*_NARROW, *_NARROW.values(), "cp932", "johab"}
_GUESSED = [
    *(name for name in ENCODING_NAMES if not name.startswith(("utf", "iso2022"))),
    *_SAME,
]
_GUESSED = [name for name in _GUESSED if name not in _NARROW.values() or name in _SAME]
MAX_SAMPLE_BYTES = 64 * 1024
"""Bytes of a file, all of lines that are not ASCII, by which its encoding is guessed."""
SURE = 0.2
"""Confidence from which a guess may be written through; half of it where characters take two bytes."""
FEW_BYTES = 2
"""Odd bytes that a file may have beside few valid characters, or none, and be UTF-8."""
CLEARLY = 1.5
"""How many times the confidence must grow for a file to start with a half character."""
WEAK = 0.1
"""Confidence below which a file that looks like a Western language is taken for Windows-1252."""


class DecodedText(NamedTuple):
    """A file's text, and how to encode it again.

    Args:
        text: Without a byte order mark; undecodable bytes are lone surrogates.
        codec: Its encoding.
        mark: The byte order mark, or empty.
        confidence: Of a guessed encoding, between 0 and 1; None if it is certain.
        rest: The byte after the last complete character of UTF-16; its lone surrogate ends the text.
        has_cr_lines: Lines end with carriage returns alone, which are line feeds in `text`.
    """

    text: str
    codec: str
    mark: str = ""
    confidence: float | None = None
    rest: bytes = b""
    has_cr_lines: bool = False

    def encode(self, text: str) -> bytes:
        """Encode another text in the same encoding, with the same line ends.

        Raises:
            UnicodeEncodeError: the encoding lacks a character.
        """
        if self.has_cr_lines:
            text = text.replace("\n", "\r")
        rest = self.rest if self.rest and text.endswith(_half(self.rest)) else b""
        text = self.mark + (text[:-1] if rest else text)
        return text.encode(self.codec, _error_handler(self.codec)) + rest

    @property
    def name(self) -> str:
        """The encoding, for people."""
        return ENCODING_NAMES.get(self.codec, "UTF-8")

    @property
    def is_sure(self) -> bool:
        """True if new characters may be written in this encoding."""
        sure = SURE / 2 if self.codec in _MULTIBYTE else SURE
        return self.confidence is None or self.confidence >= sure

    @property
    def description(self) -> str:
        """What the file is in, as a phrase; empty for UTF-8. A guess says that it is one."""
        if self.confidence is None:
            return ENCODING_NAMES.get(self.codec, "")
        if self.codec == "utf-8":
            return "in no encoding that was recognized"
        how = "probably" if self.is_sure else "perhaps"
        return f"{how} {self.name} (a guess, confidence {self.confidence:.2f})"


def decode_text(data: bytes) -> DecodedText:
    r"""Decode a file; encoding the result gives the same bytes.

    A file without line feeds whose lines end with carriage returns gets line feeds for them.

    >>> decode_text("中文的文件".encode("gbk")).codec, decode_text(b"caf\xe9 ol\xe9").text
    ('gbk', 'café olé')
    >>> decode_text("größer".encode()[:-4]).codec
    'utf-8'
    """
    decoded = _decode(data)
    if "\r" in decoded.text and "\n" not in decoded.text:
        return decoded._replace(text=decoded.text.replace("\r", "\n"), has_cr_lines=True)
    return decoded


def _decode(data: bytes) -> DecodedText:
    if is_utf_16(data):
        return _decode_utf_16(data)
    confidence: float | None = None
    if b"\x1b" in data and _ISO_2022.search(data):
        if found := _try(data, "iso2022_jp", None):
            return found
        confidence = 0.0
    try:
        text = data.decode()
    except UnicodeDecodeError:
        if not _is_nearly_utf_8(data):
            if guessed := _guess_cut(data):
                return guessed
            confidence = 0.0 if sum(map(len, _HIGH.findall(data))) > FEW_BYTES else confidence
        text = data.decode("utf-8", "surrogateescape")
    mark = _BOM if text.startswith(_BOM) else ""
    return DecodedText(text.removeprefix(_BOM), "utf-8", mark, confidence)


def _decode_utf_16(data: bytes) -> DecodedText:
    size = len(data) - len(data) % 2
    codec = UTF_16_MARKS[data[:2]]
    text = data[:size].decode(codec, "surrogatepass")
    rest = data[size:]
    return DecodedText(text[1:] + _half(rest), codec, _BOM, None, rest)


def _half(rest: bytes) -> str:
    """Return the lone surrogate for a byte that is no complete character of UTF-16."""
    return "".join(chr(0xDC00 + byte) for byte in rest)


def _is_nearly_utf_8(data: bytes) -> bool:
    """Return true if at least as many characters are valid as bytes are not, apart from cut ends."""
    if data.startswith(_BOM.encode()):
        return True
    start = _CUT_START.match(data)
    end = _CUT_END.search(data)
    middle = data[start.end() if start else 0 : end.start() if end else len(data)]
    odd = _SEQUENCE.sub(b"", middle)
    bad = len(odd) - len(odd.translate(None, bytes(range(128, 256))))
    good = len(_SEQUENCE.findall(middle)) if bad or start or end else 0
    if good:
        return good >= bad or bad <= FEW_BYTES
    return not bad and end is not None


def _guess_cut(data: bytes) -> DecodedText | None:
    """Return a file decoded by a guess, also if it starts with the second byte of a character."""
    guessed = _guess(data)
    cut = None if data[0] < 0x80 or data[1:].isascii() else _guess(data[1:])
    if cut is None or cut.codec not in _MULTIBYTE or not cut.is_sure:
        return guessed
    if guessed and guessed.is_sure:
        is_odd = count_invalid(guessed.text[:-1]) > count_invalid(cut.text[:-1])
        if not is_odd and (cut.confidence or 0) < CLEARLY * (guessed.confidence or 0):
            return guessed
    return cut._replace(text=data[:1].decode("ascii", "surrogateescape") + cut.text)


def _guess(data: bytes) -> DecodedText | None:
    """Return a file decoded by a guess; None without a plausible one."""
    import chardet  # late: few files need it

    sample = b"".join(line for line in data.splitlines(True) if not line.isascii())
    found = chardet.detect_all(
        sample[:MAX_SAMPLE_BYTES],
        ignore_threshold=True,
        compat_names=False,
        include_encodings=_GUESSED,
    )
    rows = [(each["encoding"] or "", each["confidence"] or 0.0) for each in found]
    best = max((confidence for _, confidence in rows), default=0.0)
    known = dict(rows).get("cp1252", 0.0)
    high = sum(map(len, _HIGH.findall(sample)))
    rows = [row for row in rows if row[1] >= (WEAK / 2 if high > FEW_BYTES else SURE)]
    if best < WEAK and _is_western(sample):
        rows.insert(0, ("cp1252", known))
    for found_codec, confidence in rows:
        codec = _SAME.get(found_codec, found_codec)
        for tried in (_NARROW.get(codec, codec), codec):
            if tried in ENCODING_NAMES and (decoded := _try(data, tried, round(confidence, 2))):
                return decoded
    return None


def _is_western(sample: bytes) -> bool:
    """Return true if most non-ASCII bytes are within words of ASCII letters, as in French or German."""
    high = _HIGH.findall(sample)
    if 3 * sum(map(len, high)) >= len(sample):
        return False
    return 2 * len(_LATIN_WORDS.findall(sample)) >= len(high)


def _try(data: bytes, codec: str, confidence: float | None) -> DecodedText | None:
    """Decode by one codec; return None if too much of the file is no text in it."""
    try:
        text = data.decode(codec, "surrogateescape")
    except UnicodeDecodeError:
        return None  # of an ASCII byte that does not belong where it is
    odd = count_invalid(text)
    if odd > 2 and 20 * odd > sum(map(len, _HIGH.findall(data))):
        return None
    if codec == "cp1252" and not _LATIN.fullmatch(text):
        return None
    if text.encode(codec, "surrogateescape") != data:
        return None
    return DecodedText(text, codec, "", confidence)


def _error_handler(codec: str) -> str:
    return "surrogatepass" if codec.startswith("utf-16") else "surrogateescape"


def encode_changed(decoded: DecodedText, changed: str, path: str) -> bytes:
    """Encode a changed text in its file's encoding.

    Raises:
        ToolError: the encoding lacks a character, or it is a guess too weak to know how to write it.
    """
    new = sorted({char for char in changed if char > "\x7f"} - set(decoded.text))
    if new and not decoded.is_sure:
        raise ToolError(
            f"{path!r} is {decoded.description}, so how to write {new[0]!r} in it is not known. "
            "Nothing was changed. Use ASCII and characters that the file has already, or convert it "
            "to UTF-8 first, from the encoding that it really has."
        )
    half = _half(decoded.rest)
    if half and half in changed and not changed.endswith(half):
        raise ToolError(
            f"{path!r} ends with half a character, shown as \ufffd, and nothing can be written after it. "
            "Nothing was changed. Write before it, or leave it out of new_text."
        )
    if decoded.codec in _MULTIBYTE and not set(_AFTER_ODD.findall(changed)).issubset(
        _AFTER_ODD.findall(decoded.text)
    ):
        raise ToolError(
            f"{path!r} has a byte that is no text, shown as \ufffd: the character after it would be read as "
            "one with it. Nothing was changed. Leave that character as it is."
        )
    wide = _WIDER.get(decoded.codec, decoded.codec)
    for char in new:
        if (written := _encode_char(char, decoded.codec)) is None or written != _encode_char(
            char, wide
        ):
            raise ToolError(
                f"{path!r} is {decoded.description or decoded.name}, which has no {char!r}. "
                "Nothing was changed."
            )
    return decoded.encode(changed)


def _encode_char(char: str, codec: str) -> bytes | None:
    try:
        return char.encode(codec, _error_handler(codec))
    except UnicodeEncodeError:
        return None


def replace_invalid(text: str) -> str:
    """Replace each lone surrogate by U+FFFD, so that the text can be sent to a model."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def count_invalid(text: str) -> int:
    """Count lone surrogates."""
    return 0 if text.isascii() else len(_SURROGATE.findall(text))


def describe_invalid(decoded: DecodedText, odd: int) -> str:
    """Describe what is shown as U+FFFD, as a sentence."""
    names = ("half of a character", "halves of characters")
    what = pluralize(odd, *(names if decoded.name == "UTF-16" else ("odd byte",)))
    return f"Not all of it is {decoded.name}: {what} shown as \ufffd."


def restore_invalid(was: str, old: str, new: str) -> str | None:
    r"""Put a passage's undecodable bytes back into the text that replaces it.

    A model sees each of them as U+FFFD, and repeats that where it leaves them.

    Args:
        was: The passage as in the file.
        old: The passage as the model wrote it.
        new: What replaces it.

    Returns:
        None if it cannot be decided which of them each U+FFFD of `new` is.

    >>> restore_invalid("a\udcff b", "a\ufffd b", "a\ufffd c")
    'a\udcff c'
    """
    odd = [char for char in was if char == "\ufffd" or "\ud800" <= char <= "\udfff"]
    wanted = new.count("\ufffd")
    if not wanted or not any(char != "\ufffd" for char in odd):
        return new
    if old.count("\ufffd") != len(odd):
        return None
    if wanted != len(odd):
        head = _count_common(old, new)
        tail = min(_count_common(old[::-1], new[::-1]), len(new) - head, len(old) - head)
        before = old[:head].count("\ufffd")
        after = old[len(old) - tail :].count("\ufffd")
        if before + after != wanted:
            return None
        odd = [*odd[:before], *odd[len(odd) - after :]] if after else odd[:before]
    bytes_left = iter(odd)
    return "".join(next(bytes_left) if char == "\ufffd" else char for char in new)


def _count_common(one: str, other: str) -> int:
    number = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        number += 1
    return number
