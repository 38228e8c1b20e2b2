"""Addresses in canonical form: two with the same form lead to the same place and carry the same text.

The host is compared as the network does (IDNA, letter case, a trailing dot); path, query and fragment
byte for byte, since a difference in them can carry a message.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

_ADDRESS = re.compile(
    r"(?:[\w.+-]+|(?<=[\"!#$%&'*/=?^{|}~]))@(?:[\w-]+(?:(?:\.|\u3002(?=[a-z\d]))[\w-]+)+|\[[\w.:]+\])"
    r"|[a-z][a-z0-9+.-]*://[^\s\"'<>]+|\bhttps?:[/\\][^\s\"'<>]+|www\.[^\s\"'<>]+"
    r"|\b[a-z]{2}\d{2}[a-z0-9]{10,30}\b",
    re.IGNORECASE,
)
_URL = re.compile(
    r"(?:([a-z][a-z0-9+.-]*)://|(?=www\.))([^/?#\\]*@)?([^/?#\\@]*?)(:\d*)?(?=[/?#\\]|\Z)(.*)",
    re.IGNORECASE | re.DOTALL,
)
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
    """Return the addresses in a running text, without the punctuation after them.

    Invisible characters and other forms of letters, which many programs ignore in addresses, hide none.

    >>> find_addresses('cc "eve"@evil.example, or eve＠evil\u00ad．example')
    ['@evil.example', 'eve@evil.example']
    """
    if not text.isascii():
        visible = (char for char in text if unicodedata.category(char) != "Cf")
        text = unicodedata.normalize("NFKC", "".join(visible))
    return [found.rstrip(_PUNCTUATION) for found in _ADDRESS.findall(text)]


def mentioned_addresses(text: str) -> frozenset[str]:
    """Return the canonical form of each address in a text, with and without punctuation after it."""
    found: set[str] = set()
    for written in _ADDRESS.findall(text):
        for each in (written, _END.sub("", written), _NEXT_SENTENCE.sub("", written)):
            found.add(canonical_address(each))
            for _ in range(_MOST_PUNCTUATION):
                if each[-1:] not in _PUNCTUATION:
                    break
                each = each[:-1]
                found.add(canonical_address(each))
    return frozenset(found - {""})


def host_of(address: str) -> str:
    """Return the canonical host of an address, or an empty string if it has none."""
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
