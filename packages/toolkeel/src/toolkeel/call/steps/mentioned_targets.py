"""Deciding which targets of a call the user mentioned or a trusted result contains.

A mentioned target saves a question (`taint`). This is a heuristic for fewer questions: what is in
doubt was not mentioned. Names are compared in one case and one Unicode form, addresses as `addresses`
does. A number or a short id counts if the person wrote it as ``#12``, or beside another target of the
call that is mentioned in full.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote

from toolkeel._records.taint_sources import INSTRUCTIONS, OURS, Taint, load_sources
from toolkeel.call.arguments.canonical_arguments import ArgumentsView
from toolkeel.call.steps.addresses import (
    canonical_address,
    canonical_host,
    find_addressees,
    find_addresses,
    mentioned_addresses,
    split_recipients,
)
from toolkeel.content import Text
from toolkeel.context import RunContext
from toolkeel.define.secret import collect_texts
from toolkeel.define.subschemas import all_subschemas, properties_of
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)

ATTACHED = "attached"
"""In the ``extra`` of a text that a person sends: True if it is a file's or an earlier answer's, as attachments are."""
SHORTEST = 3
"""Characters of a target below which it never counts as named."""
MAX_TEXT = 2_000_000
"""Characters of a transcript that are looked through for what was named: the last ones."""
MAX_PASSED = 100_000
"""Characters of a call's arguments above which its result names nothing."""
_WORDS = re.compile(r"\w+")
_NUMBER = re.compile(r"[\d\s.,+-]+")


@dataclass(frozen=True)
class TrustedText:
    """A text that may mention a target.

    Args:
        text: The text.
        passed: Folded arguments of the call that returned the text; empty for a person's text.
        written: The arguments of all calls that may have stored something, folded.
        written_before: Characters of `written` that are of calls before this text.
    """

    text: str
    passed: str = ""
    written: str = ""
    written_before: int = 0

    @cached_property
    def folded(self) -> str:
        """The text in the form in which names are compared."""
        return _fold(self.text)

    @cached_property
    def addresses(self) -> frozenset[str]:
        """The canonical form of each address in the text."""
        return mentioned_addresses(self.text)

    def may_repeat(self, wanted: str, people: Sequence[str]) -> bool:
        """Return True if this result may contain a name only because the call before it did, or wrote it.

        Args:
            wanted: The name, folded.
            people: Folded texts of people.
        """
        if self.passed and 0 <= self.written.find(wanted) < self.written_before:
            return True
        return _may_be(wanted, self.passed, people)


def target_texts(prepared: Prepared) -> list[str]:
    """Return the texts of the arguments declared as targets, or of all arguments if none is declared.

    The keys of objects are texts, too, after all others, unless the tool's schema declares them as properties.
    """
    shown, target = ArgumentsView(prepared), prepared.tool.effects.target
    chosen = {name: shown[name] for name in target if name in shown} if target else shown
    return [*collect_texts(chosen), *_free_keys(prepared.tool, chosen)]


def _free_keys(tool: AnyTool, arguments: Mapping[str, object]) -> list[str]:
    """Return the keys in arguments that no property of the tool's schema declares."""
    found, waiting = list[str](), list(arguments.values())
    for value in waiting:  # which grows while it is walked
        if isinstance(value, Mapping):
            found += map(str, value)
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    if not found:
        return found
    declared = {name for part in all_subschemas(tool.parameters) for name in properties_of(part)}
    return [key for key in found if key not in declared]


def unmentioned_targets(
    prepared: Prepared, values: Sequence[str], approved: Collection[str], taint: Taint
) -> list[str]:
    """Return the targets and addresses in the arguments that nobody approved and no trusted text mentions.

    If one of `values` is mentioned by more than a short word, those that the run wrote itself are left out.

    Args:
        prepared: The call.
        values: The targets of the call.
        approved: Targets that a person approved before in this run.
        taint: The labels of the run.
    """
    shown = ArgumentsView(prepared)
    texts = [*_free_keys(prepared.tool, shown), *collect_texts(shown)]
    find = find_addressees if prepared.tool.effects.target else find_addresses
    found = [one for text in texts for one in find(text)]
    heard = list(trusted_texts(taint.root))
    each = [one for value in values for one in split_recipients(value) or (value,)]
    others = [value for value in dict.fromkeys((*each, *found)) if value not in approved]
    unnamed = [value for value in others if not is_named(value, heard)]
    if any(value not in unnamed and not _is_short(_fold(value)) for value in values):
        return [value for value in unnamed if not _is_written(value, heard)]
    return unnamed


def trusted_texts(run: RunContext) -> Iterator[TrustedText]:
    """Yield the texts of user and operator, and the results that contain no other author's text.

    The newest come first, `MAX_TEXT` characters in all. A result comes with the arguments of its call, and of
    those before that may have stored something, since a target that it only repeats was named by the model,
    not by a person. Instructions that quote a stranger are left out.
    """
    left = MAX_TEXT
    tools = {tool.name: tool for tool in getattr(run.agent, "tools", ())}
    asked = {
        call.id: _fold(_given(call.arguments))
        for message in run.transcript
        for call in (message.tool_calls if isinstance(message, AssistantMessage) else ())
    }
    written, before = _written(run.transcript, tools, asked)
    sources = run.taint.sources if run.taint is not None else ()
    is_quoted = any(each.tool == INSTRUCTIONS for each in sources)
    for message in reversed(run.transcript):
        if not _is_trusted(message, tools) or (is_quoted and isinstance(message, SystemMessage)):
            continue
        text = _words_of(message)[-left:]
        if isinstance(message, ToolMessage):
            id = message.tool_call_id
            yield TrustedText(text, asked.get(id, ""), written, before.get(id, len(written)))
        else:
            yield TrustedText(text)
        left -= len(text)
        if left <= 0:
            return


def _written(
    transcript: Sequence[Message], tools: Mapping[str, AnyTool], asked: Mapping[str, str]
) -> tuple[str, dict[str, int]]:
    """Return the arguments of all calls that may have stored something, as one text.

    Returns:
        The text; and for the id of each call, how many of its characters are of calls before.
    """
    parts, before, length = list[str](), dict[str, int](), 0
    for message in transcript:
        if isinstance(message, ToolMessage):
            before[message.tool_call_id] = length
            tool = tools.get(message.name)
            if not message.failed and (tool is None or tool.effects.writes):
                parts.append(asked.get(message.tool_call_id, ""))
                length += len(parts[-1])
    return "".join(parts), before


def _is_trusted(message: Message, tools: Mapping[str, AnyTool]) -> bool:
    """Return True if a message is the user's, the developer's, or a trusted tool's result."""
    if isinstance(message, ToolMessage):
        return _is_of_person(message, tools.get(message.name))
    if isinstance(message, UserMessage):
        return message.origin == "person"  # what the library writes repeats models and others
    return isinstance(message, SystemMessage)


def _given(arguments: object) -> str:
    """Return the values of a call's arguments as text, without parameter names."""
    try:
        values = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return str(arguments)
    if not isinstance(values, dict):
        return str(arguments)
    return json.dumps(list(values.values()), ensure_ascii=False)


def _words_of(message: Message) -> str:
    """Return the text of a message; of one that is no result, without attachments and untrusted parts."""
    content = message.content
    if isinstance(content, str) or isinstance(message, ToolMessage):
        return message.text
    own = (b for b in content if isinstance(b, Text) and not b.extra.get(ATTACHED))
    return "\n".join(block.text for block in own if block.extra.get("trusted", True))


def _is_of_person(message: ToolMessage, tool: AnyTool | None) -> bool:
    """Return True if a result contains only the user's own data, such as an address book.

    False for an error, which may repeat what the model wanted, and for an unknown tool (None).
    """
    if tool is None or message.failed or not may_name_targets(tool):
        return False
    return all(source.label != "stranger" for source in load_sources(message.details))


def may_name_targets(tool: AnyTool) -> bool:
    """Return True if no stranger writes what a tool returns, as far as its definition tells.

    Files of a workspace and rows of a database may be anybody's; what an act answers comes from outside.
    """
    effects = tool.effects
    kinds = {str(key).partition(":")[0] for key in effects.resources}
    rows = "db" in kinds and not tool.metadata.get(OURS)
    return effects.read_only and not (effects.stranger or rows or "file" in kinds)


def is_named(value: str, heard: Sequence[TrustedText]) -> bool:
    """Return True if a trusted text mentions a target completely; a short name or number only as ``#12``, by people."""
    wanted = _fold(value)
    if _is_short(wanted):
        return _is_written(f"#{wanted.lstrip('#')}", heard)
    address = canonical_address(value.strip())
    is_url = "://" in address
    is_word = "@" not in wanted and not any(map(str.isspace, wanted))
    spellings = () if is_url else {wanted, canonical_host(wanted) if is_word else wanted}
    people = [each.folded for each in heard if not each.passed]
    for each in heard:
        mentions = address in each.addresses if address else False
        mentions = mentions or any(_contains(one, each.folded) for one in spellings)
        if mentions and not each.may_repeat(wanted, people):
            return True
    return False


def _is_short(wanted: str) -> bool:
    """Return True if a name is shorter than `SHORTEST`, or a bare number, and does not count wherever it is mentioned."""
    return len(wanted) < SHORTEST or bool(_NUMBER.fullmatch(wanted.lstrip("#")))


def _is_written(value: str, heard: Sequence[TrustedText]) -> bool:
    """Return True if a number or a short id is a word of its own in a text that people wrote.

    False for any longer name, and for texts that only pass on another's.
    """
    wanted = _fold(value)
    if not wanted.strip("#") or not _is_short(wanted.lstrip("#")):
        return False
    return any(_contains(wanted, each.folded) for each in heard if not each.passed)


def _may_be(wanted: str, passed: str, people: Sequence[str]) -> bool:
    """Return True if a result may contain a name only because the model passed it in.

    A tool that decodes, translates or joins makes a name of what is as long, and holds no more of it
    than it was passed in. Words that people wrote count on neither side: a name may be joined of them.
    """
    if wanted in passed or wanted in unquote(passed) or len(passed) > MAX_PASSED:
        return True
    theirs, rest = list[str](), wanted
    for word in sorted(_WORDS.findall(passed), key=len, reverse=True):
        if any(word in text for text in people):
            rest = rest.replace(word, " ")
        else:
            theirs.append(word)
    return len("".join(theirs).encode()) >= len("".join(_WORDS.findall(rest)).encode())


def _contains(wanted: str, text: str) -> bool:
    """Return True if `wanted` occurs in the text, not inside a longer word or address."""
    at = text.find(wanted)
    while at >= 0:
        after = text[at + len(wanted) : at + len(wanted) + 2]
        if not (
            _is_word_char(text[max(at - 1, 0) : at])
            or _is_word_char(after[:1])
            or (after[:1] == "." and _is_word_char(after[1:]))
        ):
            return True
        at = text.find(wanted, at + 1)
    return False


def _is_word_char(char: str) -> bool:
    """Return True if a character next to a word makes it another word (not in Chinese)."""
    return char in ("@", "_", "-") or (char < "\u0590" and char.isalnum())


def _fold(text: str) -> str:
    """Return a name as it is compared: letters are not replaced by others, as ß by ss."""
    return (
        unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower()).strip().rstrip(".")
    )
