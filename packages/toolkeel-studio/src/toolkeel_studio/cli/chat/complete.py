"""What Tab completes in a chat: commands, names of skills and sessions, and files after ``@``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

NAMES_SESSION = ("/resume ", "/compare ")
"""Commands that take a session's name."""


class ChatCompleter(Completer):
    """Completions of a line.

    Args:
        commands: Returns commands and skills, each with its slash and a summary.
        sessions: Returns the names of sessions, newest first.
    """

    def __init__(
        self,
        commands: Callable[[], Iterable[tuple[str, str]]],
        sessions: Callable[[], Iterable[str]],
    ) -> None:
        self._commands = commands
        self._sessions = sessions
        self._paths = PathCompleter(expanduser=False)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """Yield what the line may go on with."""
        text = document.text_before_cursor
        word = text.rpartition(" ")[2].rpartition("\n")[2]
        if word.startswith("@"):
            below = Document(word[1:])
            yield from self._paths.get_completions(below, complete_event)
            return
        for command in NAMES_SESSION:
            if text.startswith(command):
                name = text.removeprefix(command)
                for each in self._sessions():
                    if each.startswith(name):
                        yield Completion(each, -len(name))
        if text.startswith("/") and word == text:
            for name, summary in self._commands():
                if name.startswith(text):
                    yield Completion(name, -len(text), display_meta=summary)
