"""Who may call what, how often, and who is asked: the file of rules of a gateway.

::

    [approval]                              # for everybody: deny before ask before allow
    deny = ["shell__*"]
    ask = ["git__push"]

    [limits]                                # calls of each client
    "*" = "600/minute"
    "search__*" = "20/minute"

    [cache]                                 # results of tools that only read
    "docs__*" = "10 minutes"

    [taint]                                 # who has read private data or strangers' text
    private = ["files__*"]
    stranger = ["web__*"]
    outward = ["mail__send"]                # is asked about before this is called

    [clients.ada]                           # over HTTP: who comes with which token
    token = "${ADA_TOKEN}"
    deny = ["git__*"]
"""

from __future__ import annotations

import fnmatch
import hashlib
import hmac
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toolkeel._records.record import NOTHING, record
from toolkeel.call.steps.rules import ORDER, Rule, Rules
from toolkeel.errors import SetupError
from toolkeel.mcp.variables import expand_variables

SEARCH_ABOVE = 100
"""Tools beyond which they are searched for."""
_RATE = re.compile(r"\s*(\d{1,9})\s*/\s*(second|minute|hour|day)\s*")
_TIME = re.compile(r"\s*(\d{1,9})\s*(second|minute|hour|day)s?\s*")
_SECONDS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}
_TABLES = ("approval", "limits", "cache", "taint", "clients")
LABELS = ("private", "stranger")
"""What a client can have read."""
OUTWARD = "outward"
_TOKEN = 16
_STRICTEST = ("deny", "ask", None, "allow")
_SHELL = frozenset(("command", "cmd", "script", "shell", "bash"))
"""Names of arguments that hold a line of shell, as servers call them."""


@record
class Limit:
    """How often one client may call.

    Args:
        pattern: Of the tools' public names, which share it.
        calls: How many.
        seconds: In what time.
    """

    pattern: str
    calls: int
    seconds: float


class Policy:
    """The policy of a file.

    Args:
        rules: For everybody.
        clients: For one client each, by name; they are added to those for everybody.
        tokens: SHA-256 of each client's token, by name.
        limits: Of calls.
        cache: Seconds for which results are kept, by pattern of tools; the first that fits counts.
        taint: Patterns of tools whose results leave a label, by label; and of those that act
            ``outward``, which are asked about after that.
    """

    def __init__(
        self,
        rules: Rules | None = None,
        clients: Mapping[str, Rules] | None = None,
        tokens: Mapping[str, bytes] | None = None,
        limits: Iterable[Limit] = (),
        *,
        cache: Mapping[str, float] = NOTHING,  # type: ignore[assignment]
        taint: Mapping[str, Iterable[str]] = NOTHING,  # type: ignore[assignment]
    ) -> None:
        everybody = rules or Rules()
        self._everybody = everybody
        self._rules = {name: everybody | own for name, own in (clients or {}).items()}
        self._tokens = dict(tokens or {})
        self._limits = tuple(limits)
        self._cache = dict(cache)
        self._taint = {label: tuple(patterns) for label, patterns in taint.items()}

    def replace_with(self, other: Policy) -> None:
        """Say from now on what another says: the file was changed.

        Raises:
            SetupError: clients would need tokens of their own from now on, or none any more.
        """
        if self.has_clients != other.has_clients:
            raise SetupError("the first or last of [clients] comes or goes with a new start only")
        vars(self).update(vars(other))

    @property
    def has_clients(self) -> bool:
        """True if clients have tokens of their own."""
        return bool(self._tokens)

    @property
    def has_cache(self) -> bool:
        """True if results of some tools are cached."""
        return bool(self._cache)

    @property
    def has_taint(self) -> bool:
        """True if labels must be remembered between calls."""
        return bool(self._limits or self._taint or self._cache)

    def client_of_token(self, token: str) -> str | None:
        """Return the client of a token; None if unknown. Compares all tokens in constant time."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        found = [
            name for name, stored in self._tokens.items() if hmac.compare_digest(digest, stored)
        ]
        return found[0] if found else None

    def find_rule(self, client: str, tool: str, arguments: Mapping[str, object]) -> Rule | None:
        """Return the rule that decides about a call, or None."""
        rules = self._rules.get(client, self._everybody)
        lines = [name for name in arguments if name.lower() in _SHELL]
        found = [rules.rule(tool, arguments, name) for name in lines or [""]]
        return min(found, key=lambda rule: _STRICTEST.index(rule.action if rule else None))

    def is_hidden(self, client: str, tool: str) -> bool:
        """Return True if a tool is denied for all arguments, and therefore not listed."""
        rule = self.find_rule(client, tool, {})
        return rule is not None and rule.action == "deny" and not rule.arguments

    def unmatched_rules(self, tools: Iterable[str]) -> list[str]:
        """Rules and limits that are about no tool there is: most likely a slip of the pen.

        >>> Policy(Rules(deny=["git__*", "gti__push"])).unmatched_rules(["git__push"])
        ['deny gti__push']
        """
        names = list(tools)
        every = [self._everybody, *self._rules.values()]
        patterns = {str(rule): rule.tool for rules in every for rule in rules}
        patterns |= {f"the limit of {limit.pattern}": limit.pattern for limit in self._limits}
        patterns |= {f"the cache of {pattern}": pattern for pattern in self._cache}
        patterns |= {f"{key} {each}": each for key in self._taint for each in self._taint[key]}
        return [text for text, pattern in patterns.items() if not fnmatch.filter(names, pattern)]

    def limits(self, tool: str) -> list[Limit]:
        """Return the limits that apply to a tool's calls."""
        return [limit for limit in self._limits if fnmatch.fnmatchcase(tool, limit.pattern)]

    def cache_seconds(self, tool: str) -> float:
        """Return the seconds for which results of a tool are cached, or 0 for none."""
        fitting = (self._cache[each] for each in self._cache if fnmatch.fnmatchcase(tool, each))
        return next(fitting, 0.0)

    def labels(self, tool: str) -> list[str]:
        """Return the labels that a tool's results leave."""
        return [label for label in LABELS if _matches_any(tool, self._taint.get(label, ()))]

    def is_outward(self, tool: str) -> bool:
        """Return True if a tool acts outward."""
        return _matches_any(tool, self._taint.get(OUTWARD, ()))


def _matches_any(tool: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(tool, pattern) for pattern in patterns)


def read_policy(path: Path) -> Policy:
    """Read the policy of a file.

    Raises:
        SetupError: it cannot be read, or holds what is not understood.
    """
    try:
        data = tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise SetupError(f"{path}: {error}") from None
    if unknown := sorted(data.keys() - set(_TABLES)):
        raise SetupError(f"{path}: there is no table [{unknown[0]}]; there is {', '.join(_TABLES)}")
    tables = {name: _table(f"{path}: [{name}]", data.get(name, {})) for name in _TABLES}
    rules, tokens = {}, {}
    for name, found in tables["clients"].items():
        where = f"{path}: [clients.{name}]"
        table = dict(_table(where, found))
        tokens[name] = _token(where, table.pop("token", None))
        rules[name] = _rules(where, table)
    if len(set(tokens.values())) < len(tokens):
        raise SetupError(f"{path}: two clients have one token; give each its own")
    limits = [_limit(path, *pair) for pair in tables["limits"].items()]
    return Policy(
        _rules(f"{path}: [approval]", tables["approval"]),
        rules,
        tokens,
        limits,
        cache={key: _seconds(path, key, text) for key, text in tables["cache"].items()},
        taint=_lists(f"{path}: [taint]", tables["taint"], (*LABELS, OUTWARD)),
    )


def _table(where: str, found: object) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise SetupError(f"{where} is a table, not {found!r:.60}")
    return found


def _rules(where: str, table: Mapping[str, Any]) -> Rules:
    return Rules(**_lists(where, table, ORDER))


def _lists(where: str, table: Mapping[str, Any], keys: Iterable[str]) -> Mapping[str, Any]:
    for key, value in table.items():
        texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
        if key not in keys or not texts:
            raise SetupError(f"{where} holds lists of texts: {', '.join(keys)}; not {key!r}")
    return table


def _seconds(path: Path, pattern: str, text: object) -> float:
    found = _TIME.fullmatch(str(text))
    if not found:
        raise SetupError(f'{path}: [cache] {pattern!r} is written like "10 minutes", not {text!r}')
    return int(found[1]) * _SECONDS[found[2]]


def _token(where: str, written: object) -> bytes:
    try:
        token = expand_variables(str(written or ""), os.environ.get)
    except KeyError as error:
        raise SetupError(f"{where} needs the environment variable {error.args[0]}") from None
    if len(token) < _TOKEN:
        raise SetupError(f"{where} needs a token of at least {_TOKEN} characters")
    return hashlib.sha256(token.encode()).digest()


def _limit(path: Path, pattern: str, text: object) -> Limit:
    found = _RATE.fullmatch(str(text))
    if not found:
        raise SetupError(f'{path}: [limits] {pattern!r} is written like "20/minute", not {text!r}')
    return Limit(pattern, int(found[1]), _SECONDS[found[2]])
