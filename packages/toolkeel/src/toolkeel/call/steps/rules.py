"""Rules for a run: which calls are denied, need approval or are allowed."""

from __future__ import annotations

import fnmatch
import json
import logging
import posixpath
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import record
from toolkeel.call.steps.addresses import place_of_address
from toolkeel.call.steps.command_patterns import covers, may_mention
from toolkeel.define.similar_tool_names import nearest_tools
from toolkeel.define.subschemas import properties_of
from toolkeel.define.tool import AnyTool
from toolkeel.errors import SetupError

Action = Literal["deny", "ask", "allow"]
ORDER: tuple[Action, ...] = ("deny", "ask", "allow")

Places: TypeAlias = Callable[[str, str], tuple[str, ...]]
"""Returns the place that a path in a named argument leads to, in each form that a rule may name."""
_Resolve: TypeAlias = Callable[[str], tuple[str, ...]]

RULED_AS = "ruled_as"
"""Key of a tool's metadata: by argument, a tool and its argument of shell whose rules that deny or ask hold
for this argument, too."""
log = logging.getLogger("toolkeel")
_WILD = frozenset("*?[")
_LEADING = re.compile(r"^/+")
_SLASH = re.compile(r"[/\\]")
_RULE = re.compile(r"\s*([^()\s]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


@record
class Rule:
    """One rule: an action, a tool and patterns of arguments.

    Args:
        action: ``deny``, ``ask`` or ``allow``.
        tool: Pattern of the tool's name, with ``*`` and ``?``.
        arguments: Pattern by argument name; all must match. Text is matched as it is, anything
            else as its JSON text. An argument that has no value never matches. Text may be a
            path or an address: ``deny`` and ``ask`` also match where it leads (``./a/../b`` is
            ``b``, ``HTTP://X.`` is ``http://x/``), and ``allow`` does not match what leads
            elsewhere.
    """

    action: Action
    tool: str
    arguments: tuple[tuple[str, str], ...] = ()

    def matches(
        self,
        tool: str,
        arguments: Mapping[str, object],
        shell: str = "",
        places: Places | None = None,
    ) -> bool:
        """Return True if the rule applies to a call.

        Args:
            tool: The tool's name.
            arguments: The arguments of the call.
            shell: Name of the argument that is a shell command, which is compared by its words: see
                `toolkeel.call.steps.command_patterns`.
            places: Resolves the paths of the call's arguments; see `Places`. By default they are
                compared as written.
        """
        if not fnmatch.fnmatchcase(tool, self.tool):
            return False
        return all(
            name in arguments
            and self._fits(
                arguments[name], pattern, name == shell, partial(places, name) if places else None
            )
            for name, pattern in self.arguments
        )

    def _fits(self, value: object, pattern: str, is_shell: bool, resolve: _Resolve | None) -> bool:
        """Return True if an argument matches a pattern.

        Rules that deny or ask for approval also search inside lists and objects. In a shell command
        (`is_shell`), they match any program in it; a rule that allows must cover the complete line.
        """
        if isinstance(value, list | tuple | dict) and self.action != "allow":
            inside = [*value, *value.values()] if isinstance(value, dict) else value
            if is_shell and may_mention(pattern, " ".join(map(str, inside))):
                return True  # a program and its arguments, each for itself
            if any(self._fits(item, pattern, is_shell, resolve) for item in inside):
                return True  # what is refused or asked about is so at any depth
        if not isinstance(value, str):
            return any(fnmatch.fnmatchcase(text, pattern) for text in _texts(value))
        if not is_shell:
            return self._fits_text(value, pattern, resolve)
        if self.action == "allow":
            return pattern == "*" or covers(pattern, value)
        return may_mention(pattern, value)

    def _fits_text(self, text: str, pattern: str, resolve: _Resolve | None) -> bool:
        """Return True if a text matches a pattern as written, as a path, or as a resolved path.

        An allowing rule must match the text and its resolved path, if it has one, so that neither
        ``..`` nor a link leads out of what is allowed.
        """
        forms = resolve(text) if resolve is not None and pattern != "*" else ()
        patterns = _resolve_pattern(pattern, resolve) if resolve is not None and forms else ()
        there = any(fnmatch.fnmatchcase(form, each) for form in forms for each in patterns)
        matches = fnmatch.fnmatchcase(text, pattern)
        leads = fnmatch.fnmatchcase(_place(text), spelling(pattern))
        if self.action == "allow":
            return matches and (there if forms else leads or ".." not in _SLASH.split(text))
        return matches or leads or there or _is_same_place(text, pattern)

    def __str__(self) -> str:
        inner = ", ".join(f"{name}={pattern}" for name, pattern in self.arguments)
        return f"{self.action} {self.tool}" + (f"({inner})" if inner else "")


def spelling(name: str) -> str:
    """Normalize spellings that look the same: accents, spaces and apostrophes.

    >>> spelling("it’s café") == "it's café"
    True
    """
    if name.isascii():
        return name
    return "".join(map(_normalize_character, unicodedata.normalize("NFC", name)))


def _place(path: str) -> str:
    """Normalize a path: no leading ``@``, doubled slashes or detours.

    >>> _place(" @./a//b/../c"), _place("//etc")
    ('a/c', '/etc')
    """
    path = spelling(path).strip().removeprefix("@").strip()
    return posixpath.normpath(_LEADING.sub("/", path))


def _resolve_pattern(pattern: str, resolve: _Resolve) -> set[str]:
    """Return a pattern as it is, and with the folder that it begins with resolved, in each form."""
    at = next((n for n, char in enumerate(pattern) if char in _WILD), None)
    folder, slash, rest = pattern[:at].rpartition("/") if at is not None else (pattern, "", "")
    if not folder:
        return {pattern}
    rest = f"{slash}{rest}{pattern[at:]}" if at is not None else ""
    found = (re.sub(r"([*?[])", r"[\1]", place) + rest for place in resolve(folder))
    return {pattern, *(each.removeprefix("./") for each in found)}


def _is_same_place(text: str, pattern: str) -> bool:
    """Return True if an address leads where a pattern says, however it is written."""
    place = place_of_address(text)
    patterns = (pattern, place_of_address(pattern)) if place else ()
    return any(fnmatch.fnmatchcase(place, each) for each in patterns if each)


def _normalize_character(char: str) -> str:
    """Return a blank for a Unicode space, a straight quote for a curly one, else the character."""
    return " " if unicodedata.category(char) == "Zs" else "'" if char in "‘’" else char


def _texts(value: object) -> tuple[str, ...]:
    """Return the spellings of a value that a rule's pattern may match. 5 and 5.0 are one number."""
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and value.is_integer():
        return text, str(int(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return text, f"{text}.0"
    return (text,)


def parse_rule(action: Action, text: str) -> Rule:
    """Parse a rule: ``tool``, ``tool*`` or ``tool(argument=pattern, ...)``.

    Raises:
        SetupError: the text is not of that form.

    >>> str(parse_rule("deny", "write(path=/etc/*)"))
    'deny write(path=/etc/*)'
    """
    found = isinstance(text, str) and _RULE.fullmatch(text)
    if not found:
        raise SetupError(f"{action} {text!r} is no rule; write tool or tool(argument=pattern)")
    arguments = []
    for part in filter(None, map(str.strip, (found[2] or "").split(","))):
        name, equals, pattern = part.partition("=")
        if not equals:
            raise SetupError(f"{action} {text!r}: {part!r} is not argument=pattern")
        arguments.append((name.strip(), pattern.strip()))
    return Rule(action, found[1], tuple(arguments))


class Rules:
    """Which calls are denied, need approval or are allowed, in this order.

    If no rule matches a call, the tool's own `approval` decides.

    Args:
        deny: Rules for calls that never run; texts as `parse_rule` reads them.
        ask: Rules for calls that need approval.
        allow: Rules for calls that run without approval.
        strict: True to treat results of functions without declared effects as private and a
            stranger's.

    >>> Rules(deny=["rm"], allow=["*"]).action("rm", {})
    'deny'

    Raises:
        SetupError: an action's rules are not a list of texts.
    """

    @checked
    def __init__(
        self,
        deny: Iterable[str] = (),
        ask: Iterable[str] = (),
        allow: Iterable[str] = (),
        *,
        strict: bool = False,
    ) -> None:
        rules = {"deny": deny, "ask": ask, "allow": allow}
        for action, texts in rules.items():
            if isinstance(texts, str):
                raise SetupError(f"Rules({action}={texts!r:.60}): give a list, [{texts!r:.60}]")
            if not isinstance(texts, Iterable):
                raise SetupError(f"Rules({action}={texts!r:.60}): give a list of texts")
        self._rules = [parse_rule(action, text) for action in ORDER for text in rules[action]]
        self.strict = strict

    @classmethod
    def from_toml(cls, path: str | Path) -> Rules:
        """Read rules from a file: ``deny``, ``ask``, ``allow`` and ``strict`` in its table ``[approval]``.

        Raises:
            SetupError: if the file cannot be read, has no such table, or holds anything else there.
        """
        try:
            table = tomllib.loads(Path(path).read_text("utf-8")).get("approval")
        except (OSError, ValueError) as error:
            raise SetupError(f"{path}: {error}") from None
        if not isinstance(table, dict) or not all(_is_option(*each) for each in table.items()):
            raise SetupError(
                f"{path}: its table [approval] holds lists of text: deny, ask and allow; and strict, "
                "true or false"
            )
        return cls(**table)

    def __iter__(self) -> Iterator[Rule]:
        """Yield the rules in the order in which they are tried."""
        return iter(self._rules)

    def __or__(self, other: Rules) -> Rules:
        """Return the rules of both, in the order deny, ask, allow.

        >>> both = Rules(ask=["write_*"]) | Rules(allow=["*"])
        >>> both.action("write_file", {}), both.action("read", {})
        ('ask', 'allow')
        """
        if not isinstance(other, Rules):
            return NotImplemented
        both = Rules(strict=self.strict or other.strict)
        every = [*self._rules, *other._rules]
        both._rules = [rule for action in ORDER for rule in every if rule.action == action]
        return both

    def action(self, tool: str, arguments: Mapping[str, object]) -> Action | None:
        """Return the action of the first rule that matches a call, or None."""
        rule = self.rule(tool, arguments)
        return rule.action if rule else None

    def rule(
        self,
        tool: str,
        arguments: Mapping[str, object],
        shell: str = "",
        places: Places | None = None,
    ) -> Rule | None:
        """Return the first rule that matches a call, or None. See `Rule.matches`."""
        return next((r for r in self._rules if r.matches(tool, arguments, shell, places)), None)


def find_rule(
    rules: Rules, tool: AnyTool, arguments: Mapping[str, object], places: Places
) -> Rule | None:
    """Return the rule that decides about a call, or None.

    A rule that denies or asks for what the tool is also ruled as (`RULED_AS`) goes before one that allows.

    Args:
        rules: The rules.
        tool: The tool.
        arguments: The arguments of the call.
        places: See `Places`.
    """
    found = [rules.rule(tool.name, arguments, str(tool.metadata.get("shell", "")), places)]
    ruled_as: Any = tool.metadata.get(RULED_AS, {})
    for argument, (other, name) in ruled_as.items():
        if text := arguments.get(argument):
            found.append(rules.rule(other, {name: text}, name))
    strict = [rule for rule in found if rule is not None and rule.action != "allow"]
    return min(strict, key=lambda rule: ORDER.index(rule.action), default=found[0])


def _is_option(name: str, value: object) -> bool:
    """Return True if an entry of a file of rules is a list of texts under an action's name, or a bool `strict`."""
    if name == "strict":
        return isinstance(value, bool)
    texts = isinstance(value, list) and all(isinstance(rule, str) for rule in value)
    return name in ORDER and texts


def is_allowed(tool: AnyTool, rule: Rule | None) -> bool:
    """Return True if the program explicitly allows a call: then taint labels do not require approval.

    Args:
        tool: The tool; its ``approval=False`` counts if no rule matches.
        rule: The rule that matches the call; None for none.
    """
    return tool.approval is False if rule is None else rule.action == "allow"


def check_rules(rules: Rules, tools: Sequence[AnyTool]) -> None:
    """Raise unless the tools and arguments that rules name exist.

    A pattern may match nothing, and a tool that takes any arguments may be named with any.

    Args:
        rules: The rules.
        tools: All callable tools.

    Raises:
        SetupError: naming the missing tool or argument, and the nearest existing one.
    """
    if not isinstance(rules, Rules):
        raise SetupError(f"rules are {rules!r:.60}; give Rules(deny=[...], ask=[...], allow=[...])")
    by_name = {tool.name: tool for tool in tools}
    for rule in rules:
        if not _WILD.isdisjoint(rule.tool):
            continue
        inside = f"; for a tool of an agent that a body runs, write the pattern '{rule.tool}*'"
        check_tool_name(f"rule {str(rule)!r}", rule.tool, tools, inside)
        schema = by_name[rule.tool].parameters if rule.tool in by_name else {}
        known = properties_of(schema)
        if schema.get("additionalProperties") is not False:
            continue
        for argument, _ in rule.arguments:
            if argument not in known:
                listed = ", ".join(known) or "none"
                raise SetupError(
                    f"rule {str(rule)!r}: {rule.tool} has no argument {argument!r}; it has {listed}"
                )


def check_tool_name(what: str, name: str, tools: Sequence[AnyTool], fix: str = "") -> None:
    """Raise unless an option names an existing tool. Only log a warning if tools' bodies may call others.

    Args:
        what: The option, for the message.
        name: The name that the option has.
        tools: All known tools.
        fix: The end of the message: what to write instead.

    Raises:
        SetupError: there is no such tool.
    """
    names = [tool.name for tool in tools]
    if name in names:
        return
    near = nearest_tools(name, names, 1)
    hint = (
        f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(names[:20]) or 'none'}"
    )
    text = f"{what}: no tool is called {name!r}{hint}"
    if not any(tool.injected for tool in tools):
        raise SetupError(text + fix)
    log.warning("%s", text)  # a body that has the context may call tools of its own


def join_rules(outer: Rules | None, own: Rules | None) -> Rules | None:
    """Return both sets of rules as one, the only one, or None if there are none."""
    return own if outer is None or outer is own else outer if own is None else outer | own
