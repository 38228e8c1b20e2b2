"""Names: what a tool may be called here, and what a provider lets it be called.

Inside, a name is any text a person would type without a space, Chinese included. On the wire
each provider has its own alphabet, so a set of tools gets a set of aliases that can be turned
round: results and events always carry the tool's own name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from types import MappingProxyType

from toolkeel._records.record import record
from toolkeel.errors import DefinitionError, DuplicateToolError

MAX_NAME_LENGTH = 128
_HASH = 8


@record
class NamePolicy:
    """The alphabet and length a provider allows.

    Args:
        alphabet: Allowed characters, as the inside of a regular expression's ``[...]``.
        max_length: Maximum number of characters.
        first_alphabet: Allowed first characters, likewise; empty for those of `alphabet`.
        stem: The alias of a name without any allowed character.
    """

    alphabet: str = "A-Za-z0-9_-"
    max_length: int = 64
    first_alphabet: str = ""
    stem: str = "tool"

    def accepts(self, name: str) -> bool:
        """Return True if the provider accepts `name` unchanged."""
        return _pattern(self).fullmatch(name) is not None


@cache
def _pattern(policy: NamePolicy) -> re.Pattern[str]:
    """Return the regular expression of names that a provider accepts."""
    first = policy.first_alphabet or policy.alphabet
    return re.compile(f"[{first}][{policy.alphabet}]{{0,{policy.max_length - 1}}}")


COMMON = NamePolicy()
"""The common denominator, ``[A-Za-z0-9_-]{1,64}``: every target but Gemini takes any such name;
Gemini also wants a letter or an underscore in front."""

POLICIES: Mapping[str, NamePolicy] = MappingProxyType(
    {
        "openai-chat": COMMON,  # openai.types.shared_params.FunctionDefinition.name
        "openai-responses": COMMON,
        "compatible": COMMON,
        "mistral": COMMON,  # "must be a-z, A-Z, 0-9, or contain underscores and dashes, … 64"
        "anthropic": COMMON,  # newer models take 128, tool references still 64
        "bedrock": COMMON,  # botocore: ToolName
        # google.genai.types.FunctionDeclaration.name; Vertex AI stops at 64, the SDK says 128
        "gemini": NamePolicy("A-Za-z0-9_.:-", 64, "A-Za-z_"),
        "gemini-legacy": NamePolicy("A-Za-z0-9_.:-", 64, "A-Za-z_"),
        # MCP 2025-11-25, "Tool names" (SEP-986 as adopted: no slash)
        "mcp": NamePolicy("A-Za-z0-9_.-", MAX_NAME_LENGTH),
        "plain": NamePolicy(r"\S", MAX_NAME_LENGTH),
    }
)
"""Name policy by target of `toolkeel.define.dialect.definition.definition`."""


def check_name(name: str) -> str:
    """Return `name` if a tool may be called that.

    Args:
        name: Any text without spaces and control characters, at most 128 characters.

    Raises:
        DefinitionError: saying what is wrong and a name that would do.

    >>> check_name("查询天气")
    '查询天气'
    >>> check_name("get weather")
    Traceback (most recent call last):
    ...
    toolkeel.errors.DefinitionError: tool name 'get weather' contains ' '; use 'get_weather'
    """
    if not name:
        raise DefinitionError("a tool needs a name; pass name='...'")
    plain = name.isascii() and name.isidentifier()  # most; they need no look at each character
    bad = None if plain else next((char for char in name if _is_forbidden(char)), None)
    if bad is not None:
        fixed = "".join("_" if _is_forbidden(char) else char for char in name)[:MAX_NAME_LENGTH]
        message = "; what it does goes into description=" if name.count(" ") > 1 else ""
        raise DefinitionError(f"tool name {name!r} contains {bad!r}; use {fixed!r}{message}")
    if len(name) > MAX_NAME_LENGTH:
        raise DefinitionError(
            f"tool name {name[:40]!r}... has {len(name)} characters; use at most {MAX_NAME_LENGTH}"
        )
    return name


def _is_forbidden(char: str) -> bool:
    """Return True if a character is a space, control, format or surrogate character."""
    import unicodedata  # late: most names need it not

    return char.isspace() or unicodedata.category(char) in ("Cc", "Cf", "Cs")


def wire_name(name: str, policy: NamePolicy = COMMON) -> str:
    """Return the alias of one name for a provider, regardless of other names.

    A name the provider takes stays. A short ASCII name has each refused character replaced by
    an underscore. Whatever would lose more than punctuation (other scripts, the end of a long
    name) also gets eight hexadecimal digits of its SHA-256, so that it stays recognisable.

    >>> wire_name("weather.get")
    'weather_get'
    >>> wire_name("查询天气")
    'tool_22cf3c76'
    """
    if policy.accepts(name):
        return name
    cleaned = _clean(name, policy)
    if name.isascii() and re.search("[A-Za-z0-9]", name) and policy.accepts(cleaned):
        return cleaned
    return hashed_name(name, policy)


def hashed_name(name: str, policy: NamePolicy = COMMON, digits: int = _HASH) -> str:
    """Return an alias of `name` that ends with `digits` hex digits of its SHA-256.

    >>> hashed_name("weather.get")
    'weather_get_b8affdae'
    """
    import hashlib  # late: it serves names alone that some provider does not take

    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:digits]
    retained = _clean(re.sub(r"[^\x00-\x7f]+", "_", name), policy).strip("_.:-")
    stem = retained[: policy.max_length - digits - 1] or policy.stem
    if not policy.accepts(stem):  # it begins with a digit where only letters may
        stem = f"{policy.stem}_{stem}"[: policy.max_length - digits - 1]
    return f"{stem}_{digest}"


def _clean(name: str, policy: NamePolicy) -> str:
    """Return a name with each refused character replaced by an underscore."""
    return re.sub(f"[^{policy.alphabet}]", "_", name)


def wire_names(names: Sequence[str], policy: NamePolicy = COMMON) -> dict[str, str]:
    """Return a distinct alias for each name. The result does not depend on the order of the names.

    Args:
        names: The tools' own names, each once.
        policy: What the provider takes.

    Returns:
        Alias by name, in the order of `names`. Names the provider takes are their own alias;
        of the others, those that would get the same one are distinguished by a hash.

    Raises:
        DuplicateToolError: if a name comes twice.

    >>> wire_names(["weather.get", "weather_get", "news.get"])
    {'weather.get': 'weather_get_b8affdae', 'weather_get': 'weather_get', 'news.get': 'news_get'}
    """
    _check_unique(names)
    aliases = {name: name for name in names if policy.accepts(name)}
    others = sorted(set(names) - set(aliases))
    wanted = {name: wire_name(name, policy) for name in others}
    claims = Counter([*aliases, *wanted.values()])
    for name in others:
        if claims[wanted[name]] == 1:
            aliases[name] = wanted[name]
    for name in others:
        if name not in aliases:
            aliases[name] = _free_name(name, policy, {*claims, *aliases.values()})
    return {name: aliases[name] for name in names}


def _free_name(name: str, policy: NamePolicy, taken: set[str]) -> str:
    """Return the first alias of `name`, with more and more digits, that is not taken.

    Raises `DefinitionError` if all of them are.
    """
    for digits in range(_HASH, policy.max_length - len(policy.stem), 4):
        alias = hashed_name(name, policy, digits)
        if alias not in taken:
            return alias
    raise DefinitionError(f"no free alias for tool name {name!r}; rename the tool")


def unique_names(listed: Collection[str]) -> dict[str, str]:
    """Return a valid, distinct name for each of a server's tools, by its own name.

    Valid names stay as they are; the others get their `wire_name`, with a hash if that is taken.
    """
    import hashlib  # late, as in `hashed_name`

    found: dict[str, str] = {}
    for name in listed:
        with suppress(DefinitionError):
            found[name] = check_name(name)
    taken = set(found.values())
    for name in listed:
        if name not in found:
            alias = wire_name(name)
            digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            found[name] = f"{alias[:50]}_{digest}" if alias in taken else alias
            taken.add(found[name])
    return found


def _check_unique(names: Iterable[str]) -> None:
    """Raise `DuplicateToolError` if a name occurs twice."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DuplicateToolError(f"two tools are called {twice[0]!r}; rename or prefix one")
