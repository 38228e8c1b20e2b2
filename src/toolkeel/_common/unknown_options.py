"""Options and attributes that are not there: what is refused names ours, also for other libraries' words."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NoReturn, ParamSpec, TypeVar

from toolkeel._common.peers_words import OPTIONS, Words
from toolkeel.errors import DefinitionError

P = ParamSpec("P")
R = TypeVar("R")


def our_word(words: Words, word: str) -> str:
    """Ours for one of theirs; empty if there is none."""
    return next((ours for ours, theirs in words.items() if word in theirs.split()), "")


def unknown_option(where: str, word: str, known: Iterable[str], kind: str = "") -> DefinitionError:
    """What is raised for a keyword that is not there: it names the one that is.

    Args:
        where: What was called.
        word: The keyword.
        known: Those there are.
        kind: Its name in `OPTIONS`, if that is another.

    >>> str(unknown_option("Agent", "system_prompt", ["instructions"]))
    "Agent: there is no option 'system_prompt'; write instructions="
    """
    import difflib  # late: for mistakes alone

    ours = our_word(OPTIONS.get(kind or where, {}), word)
    hint = f"; write {ours}" if ours else ""
    if not hint and (near := difflib.get_close_matches(word, list(known), n=1)):
        hint = f"; did you mean {near[0]!r}?"
    return DefinitionError(f"{where}: there is no option {word!r}{hint}")


_WRITTEN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Agent": "Agent('openai:gpt-5', [search, send], instructions='...')",
        "Agent.run": "run(prompt, deps=..., session=...), with messages as one list",
        "Toolset": "Toolset([search, send])",
        "tool": "tool(function, name='...', description='...')",
    }
)


def too_many(where: str, given: int, places: str) -> DefinitionError:
    """What is raised for more arguments by position than there are places for.

    Args:
        where: What was called.
        given: How many there were.
        places: Which there are.

    >>> str(too_many("Toolset", 2, "tools"))
    'Toolset takes only tools by position, not 2 arguments; write Toolset([search, send])'
    """
    write = _WRITTEN.get(where, f"the others with their names, {where}(..., name=value)")
    only = f"only {places}" if places else "nothing"
    return DefinitionError(
        f"{where} takes {only} by position, not {given} arguments; write {write}"
    )


def check_places(where: str, method: Any, given: int, options: Iterable[str]) -> None:
    """See that a function or method has a place for each argument.

    Args:
        where: What was called.
        method: What runs then.
        given: How many arguments there are by position, its object apart.
        options: The names of the others.

    Raises:
        DefinitionError: naming the argument and the fix.
    """
    code, first = method.__code__, _has_object(method)
    places = code.co_varnames[first : code.co_argcount]
    known = code.co_varnames[first : code.co_argcount + code.co_kwonlyargcount]
    takes_more = code.co_flags & inspect.CO_VARKEYWORDS
    for word in options:
        if word not in known and not (takes_more and not our_word(OPTIONS.get(where, {}), word)):
            raise unknown_option(where, word, known)
    if given > len(places) and not code.co_flags & inspect.CO_VARARGS:
        raise too_many(where, given, " and ".join(places))


def _has_object(method: Any) -> bool:
    return method.__code__.co_varnames[:1] in (("self",), ("cls",))


def telling(words: Words) -> Callable[[object, str], NoReturn]:
    """A class's ``__getattr__`` that says which attribute takes the place of another library's."""

    def refuse(owner: object, name: str) -> NoReturn:
        kind, ours = type(owner).__name__, our_word(words, name)
        hint = f"; write {ours}" if ours else ""
        said = f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind} has no {name!r}{hint}"
        raise AttributeError(said, name=name, obj=owner)

    return refuse


def naming(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function or method refuse arguments that it has no place for by a text with the fix, no
    `TypeError`."""
    where = function.__qualname__.replace(".__init__", "").replace(".__new__", "")
    first = _has_object(function)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        check_places(where, function, len(args) - first, kwargs)
        return function(*args, **kwargs)

    return checked
