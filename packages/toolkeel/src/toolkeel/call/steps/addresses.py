"""Addresses in canonical form: two with the same form lead to the same place and carry the same text.

The host is compared as the network does (IDNA, letter case, a trailing dot); path, query and fragment
byte for byte, since a difference in them can carry a message.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterator, Sequence
from urllib.parse import unquote, urlsplit

_MAIL_HOST = re.compile(
    r"@(?:[\w-]+(?:(?:\.|\u3002(?=[a-z\d]))[\w-]+)+|\[[\w.:]+\])", re.IGNORECASE
)
_LOCAL_PART = re.compile(r"[\w.+-]+\Z|(?<=[\")!#$%&'*/=?^{|}~])\Z")
_WEB = re.compile(
    r"://[^\s\"'<>]+|\bhttps?:[/\\][^\s\"'<>]+|www\.[^\s\"'<>]+|\b[a-z]{2}\d{2}[a-z0-9]{10,30}\b",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*\Z", re.IGNORECASE)
_LONGEST_BEGIN = 64
"""Characters of an address before its ``@`` or ``://`` that are looked at."""
_URL = re.compile(
    r"(?:([a-z][a-z0-9+.-]*)://|(?=www\.))([^/?#\\]*@)?([^/?#\\@]*?)(:\d*)?(?=[/?#\\]|\Z)(.*)",
    re.IGNORECASE | re.DOTALL,
)
_RECIPIENT = re.compile(
    r"(?:(?:\"[\w.'\u2019 -]*\" ?|[\w.'\u2019 -]*)<([^\s@<>()\"]+@[\w.-]+)>|<?([^\s@<>()\"]+@[\w.-]+)>?)"
)
_DISTANT_RECIPIENT = re.compile(r"(?:[^@<>]*<)?([^\s@<>]+@[\w.-]+\.[^\W\d][\w-]+)>?")
"""A recipient in which there were spaces or comments: then its host has an end such as ``.org``."""
_COMMENT, _SPACES, _AROUND = re.compile(r"\([^()]*\)"), re.compile(r"\s+"), re.compile(" ?([@.]) ?")
_HEADER = re.compile(
    r"[\r\n\x0b\x0c\x85\u2028\u2029](?:resent-)?(to|b?cc)[ \t]*:((?:[^\r\n]|\r?\n[ \t])*)",
    re.IGNORECASE,
)
_EMPTY_LINE = re.compile(r"\n[ \t\r]*\n")
_MOST_WORDS = 40
"""Words without ``@`` of a text that may be a field, such as a list of recipients; with more it is a letter."""
_DOTS = re.compile("[\u3002\uff0e\uff61]")
_END = re.compile(
    "[\u3001\u3002\uff0c\uff1b\uff1a\uff01\uff1f\uff09\u300d\u300f\u3011].*", re.DOTALL
)
_NEXT_SENTENCE = re.compile(r"(?<=[a-z0-9/])\.[A-Z][a-z]+\Z")
"""A full stop without a space after it, and the next sentence's first word: ``www.x.example.They``."""
_PUNCTUATION = ").,;:!?`*]}"
_MOST_PUNCTUATION = 4


def canonical_host(host: str) -> str:
    """Return a host as the network compares names: lowercase, in punycode, without a final dot.

    IP addresses are not rewritten, and what cannot be a host is returned as it is.

    >>> canonical_host("Groß.Example."), canonical_host("xn--gro-7ka.example")
    ('xn--gro-7ka.example', 'xn--gro-7ka.example')
    """
    plain = _DOTS.sub(".", unicodedata.normalize("NFC", host).lower())
    labels = plain.removesuffix(".").split(".")
    try:
        return ".".join(
            one if one.isascii() else f"xn--{one.encode('punycode').decode()}" for one in labels
        )
    except UnicodeError:  # a lone surrogate: no host
        return host


def canonical_address(address: str) -> str:
    """Return a web or mail address in canonical form, or an empty string for any other text.

    >>> canonical_address("HTTPS://Example.ORG./A?q=B"), canonical_address("https://example.org")
    ('https://example.org/A?q=B', 'https://example.org/')
    >>> canonical_address("Ada@Example.ORG"), canonical_address("Ada Lovelace")
    ('ada@example.org', '')
    """
    if found := _URL.fullmatch(address):
        scheme, user, host, port, rest = found.groups(default="")
        path = rest if rest.startswith(("/", "\\")) else f"/{rest}"
        return f"{scheme.lower()}://{user}{canonical_host(host)}{port}{path}"
    name, at, host = address.rpartition("@")
    if not at or not name or not host or any(map(str.isspace, address)):
        return ""
    return f"{unicodedata.normalize('NFC', name).lower()}@{canonical_host(host)}"


def place_of_address(address: str) -> str:
    """Return the place of a web address, without user, default port and fragment; "" for other text.

    >>> place_of_address("HTTP://me@X.Example:80/a/../%73ecrets/b#c")
    'http://x.example/secrets/b'
    """
    found = _URL.fullmatch(address.strip())
    if found is None or not found[1]:
        return ""
    scheme, _, host, port, rest = found.groups(default="")
    path, mark, query = unquote(rest.partition("#")[0]).replace("\\", "/").partition("?")
    clean = posixpath.normpath(f"/{path.lstrip('/')}")
    clean += "/" if path.endswith("/") and clean != "/" else ""
    is_default = (scheme.lower(), port) in (("http", ":80"), ("https", ":443"))
    shown = "" if is_default or port == ":" else port
    return f"{scheme.lower()}://{canonical_host(unquote(host))}{shown}{clean}{mark}{query}"


def find_addresses(text: str) -> list[str]:
    """Return the addresses in a text, without the punctuation after them.

    None is hidden by invisible characters, other forms of letters, or ``%40``, nor by the spaces and comments
    that mail programs ignore in a list of recipients, which may be all of the text or a header within it.

    >>> find_addresses('cc "eve"@evil.example, or eve＠evil\u00ad．example')
    ['@evil.example', 'eve@evil.example']
    >>> find_addresses("Hello\\r\\nBcc: eve (x) @ evil . example")
    ['eve@evil.example']
    """
    text = _plain(text)
    found = [each.rstrip(_PUNCTUATION) for each in _written_addresses(text)]
    return list(dict.fromkeys((*found, *_read_recipients(text), *_read_headers(text))))


def find_addressees(text: str) -> list[str]:
    r"""Return the addresses in a text that it may be sent to: all but mail addresses within a letter.

    A letter has an empty line between other lines, or many words that hold no ``@``. There a mail address
    counts if all the text, or all above the empty line, is a list of recipients, in a header there, or if it is
    mentioned with a sign, as some services notify ``@eve@evil.example`` and ``+eve@evil.example``.

    >>> find_addressees("see ada@x.example"), find_addressees("Hi\n\nAda (ada@x.example) or @eve@x.example")
    (['ada@x.example'], ['eve@x.example'])
    """
    found, plain = find_addresses(text), _plain(text).strip()  # as mail programs strip a field
    first = _EMPTY_LINE.search(plain)
    if first is None and sum("@" not in word for word in plain.split()) <= _MOST_WORDS:
        return found
    head = plain[: first.start()] if first else plain
    listed = (*split_recipients(plain), *_read_recipients(head.rstrip(",; ")))
    signed = (one for one, before in _mail_addresses(plain) if before == "@" or one[0] == "+")
    others = (one for one in found if "@" not in one or _WEB.search(one))
    return list(dict.fromkeys((*others, *listed, *_read_headers(f"\n{head}"), *signed)))


def _plain(text: str) -> str:
    """Return a text without invisible characters, in plain letters (NFKC); one with ``%40`` is followed by its decoded form."""
    if not text.isascii():
        visible = (char for char in text if unicodedata.category(char) != "Cf")
        text = unicodedata.normalize("NFKC", "".join(visible))
    return f"{text} {unquote(text)}" if "%40" in text else text


def _read_headers(text: str) -> list[str]:
    """Return the recipients in lines such as ``Bcc: ...`` of a text; of a ``Bcc`` that lists none, its text."""
    found: list[str] = []
    for header, recipients in _HEADER.findall(text):
        hidden = [recipients.strip()] if header.lower() == "bcc" else []
        found += _read_recipients(recipients) or hidden
    return found


def _written_addresses(text: str) -> Iterator[str]:
    """Yield the addresses in a text as they are written, in linear time: mail addresses, then others."""
    yield from (address for address, _ in _mail_addresses(text))
    for found in _WEB.finditer(text):
        if not found[0].startswith("://"):
            yield found[0]
        elif begin := _SCHEME.search(text, max(0, found.start() - _LONGEST_BEGIN), found.start()):
            yield f"{begin[0]}{found[0]}"


def _mail_addresses(text: str) -> Iterator[tuple[str, str]]:
    """Yield the mail addresses in a text as they are written, each with the character before it."""
    for found in _MAIL_HOST.finditer(text):
        if begin := _LOCAL_PART.search(text, max(0, found.start() - _LONGEST_BEGIN), found.start()):
            yield f"{begin[0]}{found[0]}", text[max(begin.start() - 1, 0) : begin.start()]


def split_recipients(text: str) -> list[str]:
    """Return the mail addresses that a text lists, with or without names; nothing for any other text.

    >>> split_recipients("Ada Lovelace <ada@x.example>, ben@x.example")
    ['ada@x.example', 'ben@x.example']
    """
    return _match_all(_RECIPIENT, text)


def _read_recipients(text: str) -> list[str]:
    """Return the mail addresses that a text lists, as mail programs read it."""
    if "@" not in text:
        return []
    if found := split_recipients(text):
        return found
    for _ in range(_MOST_PUNCTUATION):  # comments hold comments
        text = _COMMENT.sub("", text)
    return _match_all(_DISTANT_RECIPIENT, _AROUND.sub(r"\1", _SPACES.sub(" ", text)))


def _match_all(form: re.Pattern[str], text: str) -> list[str]:
    """Return the addresses of a list with commas or semicolons if each of its parts has a form; else nothing.

    An address is the first group of the form that is not empty; the form must have one.
    """
    found: list[str] = []
    for part in re.split("[,;]", text):
        if (match := form.fullmatch(part.strip())) is None:
            return []
        found.append(next(filter(None, match.groups())))
    return found


def mentioned_addresses(text: str) -> frozenset[str]:
    """Return the canonical form of each address in a text, with and without punctuation after it."""
    found: set[str] = set()
    for written in _written_addresses(text):
        for each in (written, _END.sub("", written), _NEXT_SENTENCE.sub("", written)):
            found.add(canonical_address(each))
            for _ in range(_MOST_PUNCTUATION):
                if each[-1:] not in _PUNCTUATION:
                    break
                each = each[:-1]
                found.add(canonical_address(each))
    return frozenset(found - {""})


def host_of(address: str) -> str:
    """Return the canonical host of a web address, or "" for any other text, also a mail address."""
    try:
        return canonical_host(urlsplit(address.strip()).hostname or "")
    except ValueError:  # such as a bracket without its other half
        return ""


def are_trusted_hosts(values: Sequence[str], trusted: object) -> bool:
    """Return True if there are addresses and all are of trusted hosts.

    Args:
        values: The addresses.
        trusted: List or tuple of hosts, ``*.example.org`` for all below one; else no host is trusted.
    """
    hosts = [host_of(value) for value in values]
    patterns = (
        [canonical_host(str(p)) for p in trusted] if isinstance(trusted, tuple | list) else []
    )
    return bool(hosts and patterns) and all(
        any(_is_below(host, pattern) for pattern in patterns) for host in hosts
    )


def _is_below(host: str, pattern: str) -> bool:
    """Return True if a host matches a pattern: itself, or a subdomain for ``*.example.com``."""
    if not pattern.startswith("*."):
        return bool(host) and host == pattern
    return host.endswith(pattern[1:]) and len(host) > len(pattern) - 1
