"""``toolkeel chat``: talk with a model that may call tools, in the terminal (REPL), in a session."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

import typer
from prompt_toolkit import PromptSession
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory

from toolkeel._common.data_folder import sessions_file
from toolkeel.agent.agent import Agent
from toolkeel.builtin.tools_in_module import suggest_or_list
from toolkeel.content import Content
from toolkeel.context import CancelToken
from toolkeel.errors import ToolkeelError
from toolkeel.messages import AssistantMessage, Message, Usage, UserMessage
from toolkeel.observe.stats import price_of_usage
from toolkeel.observe.wording import count, dollars, permit_words, visible_line
from toolkeel.sessions import Sessions
from toolkeel.sessions.permits import revoke_permit, session_permits
from toolkeel_studio.cli.chat.attach import attached_paths, missing_paths, with_attachments
from toolkeel_studio.cli.chat.complete import ChatCompleter
from toolkeel_studio.cli.chat.steering import SIGN, Steering, prompt_output, text_bindings
from toolkeel_studio.cli.commands.launch import (
    OFFLINE,
    Instructions,
    Launch,
    ModelName,
    RulesFile,
    SessionName,
    Targets,
)
from toolkeel_studio.cli.commands.sessions import export_command
from toolkeel_studio.cli.exit_codes import UsageProblem, too_many_words
from toolkeel_studio.cli.history_option import HistoryOption
from toolkeel_studio.cli.terminal.approve import TerminalApprover, argument_check, can_ask
from toolkeel_studio.cli.terminal.interrupt import run_interruptible
from toolkeel_studio.cli.terminal.progress import Pausable, PlainView, failure_line
from toolkeel_studio.cli.terminal.reply import ReplyView
from toolkeel_studio.cli.terminal.standard_streams import OutputLost
from toolkeel_studio.cli.terminal.streams import (
    DIM,
    RED,
    YELLOW,
    echo,
    layout,
    note,
    stdout_is_terminal,
    stdout_kept_clean,
    width_of,
)
from toolkeel_studio.cli.terminal.two_columns import compare_lines
from toolkeel_studio.inspector.compare import compare
from toolkeel_workspace.skills.skills import Skills

HINT = "Enter sends, Alt+Enter: new line, /help, Ctrl+D ends"


def command(
    context: typer.Context,
    *,
    targets: Targets = None,
    model: ModelName = OFFLINE,
    instructions: Instructions = "",
    rules: RulesFile = None,
    session: SessionName = "",
    history: HistoryOption = "",
    skills: Annotated[
        list[Path] | None,
        typer.Option("--skills", metavar="FOLDER", help="Agent Skills; may be repeated."),
    ] = None,
) -> None:
    """Talk with a model that may call tools, in the terminal.

    Each chat is a session, and is there again with --session NAME. Calls that need approval ask
    where you type. Without a terminal each line of stdin is a message.
    """
    if context.args:
        raise too_many_words("chat", context.args)
    name = session or f"chat-{datetime.now():%Y%m%d-%H%M%S}"
    launch = Launch(tuple(targets or ()), model, instructions, rules=rules, history=history)
    with stdout_kept_clean():
        chat = Chat(launch, Sessions(), name, Skills(*skills) if skills else None)
    chat.greet()
    for text in read_lines(chat.steering) if can_ask() else lines():
        if not chat.handle_line(text):
            break
    if can_ask() and chat.sessions[chat.name].exists:
        words = [word for each in skills or () for word in ("--skills", str(each))]
        words = ["toolkeel", "chat", *launch.words(), *words, "--session", chat.name]
        note(f"go on: {shlex.join(words)}", DIM)


def lines() -> Iterator[str]:
    """Messages of a pipe, one a line."""
    for line in sys.stdin:
        yield line.strip()


def read_lines(steering: Steering) -> Iterator[str]:
    """Yield the lines that a person types, until they end the chat.

    A line is added to the history when Enter is pressed.

    Args:
        steering: Holds what was typed while a run worked.
    """
    prompt: PromptSession[str] = PromptSession(
        ANSI(SIGN),
        history=steering.past,
        completer=steering.completer,
        complete_while_typing=False,
        key_bindings=text_bindings(),
        prompt_continuation="  ",
        output=prompt_output(sys.stdout),
    )
    while True:
        while steering.left:
            note(f"› {visible_line(steering.left[0])}", DIM)
            yield steering.left.popleft()
        draft, steering.draft = steering.draft, ""
        try:
            yield prompt.prompt(default=draft).strip()
        except KeyboardInterrupt:  # clears the line, as shells do
            continue
        except EOFError:
            return


def usage_line(usage: Usage, messages: Sequence[Message]) -> str:
    """Describe the tokens of a turn, and their cost if every reply has a known price.

    Args:
        usage: Usage of the run. Without a cost if it includes more than the replies, such as inner agents.
        messages: The transcript; the turn begins with its last user message.

    >>> usage_line(Usage(input_tokens=1200, output_tokens=30), [])
    '1,200 tokens in, 30 out'
    """
    replies = list(takewhile(lambda each: not isinstance(each, UserMessage), reversed(messages)))
    spent, costs = Usage(), list[float | None]()
    for reply in replies:
        if isinstance(reply, AssistantMessage):
            spent = spent + reply.usage
            costs.append(price_of_usage(reply.model or "", reply.usage))
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    known = [cost for cost in costs if cost is not None]
    if not known or len(known) < len(costs) or spent.total_tokens != usage.total_tokens:
        return tokens
    return f"{tokens}, {dollars(sum(known))}"


class Chat:
    """A chat: an agent and its session.

    Args:
        launch: The options of the command.
        sessions: The store of sessions.
        name: The session's name.
        skills: Skills for the model, which ``/name`` loads at once.

    Raises:
        SetupError: the options of the command cannot be used.
    """

    def __init__(
        self, launch: Launch, sessions: Sessions, name: str, skills: Skills | None = None
    ) -> None:
        self.sessions = sessions
        self.name = name
        self._launch = launch
        self._skills = skills
        self._agent = self._make_agent(launch)
        past = sessions_file().with_name("chat-history")
        past.parent.mkdir(0o700, parents=True, exist_ok=True)
        completer = ChatCompleter(self._command_names, self._session_names)
        self.steering = Steering(FileHistory(str(past)), completer)

    def _make_agent(self, launch: Launch) -> Agent[Any, Any]:
        agent = launch.agent()
        return agent.with_tools([self._skills]) if self._skills is not None else agent

    def _command_names(self) -> list[tuple[str, str]]:
        """List what a line may begin with, each with its summary."""
        own = {f"/{name}": summary for name, (summary, _) in COMMANDS.items()} | {"/quit": "end"}
        skills = self._skills.read() if self._skills is not None else {}
        found = {f"/{name}": skill.text.description for name, skill in skills.items()}
        return list((found | own).items())

    def _session_names(self) -> list[str]:
        return [info.name for info in self.sessions.list(scope="")]

    def greet(self) -> None:
        """Say where one is."""
        tools = count(len(self._agent.tools), "tool")
        note(f"{self.name}: {self._agent.model.name}, {tools}", DIM)
        if can_ask():
            note(HINT, DIM)  # one line of 60 columns, as the hint while a run works
        self._go_on_if_it_waits()

    def handle_line(self, text: str) -> bool:
        """Handle a message or a command. Return True to continue the chat."""
        word, _, rest = text.partition(" ")
        if not text:
            return True
        known = COMMANDS.get(word[1:])
        message = self._skills.expand(text) if self._skills is not None and not known else text
        if not word.startswith("/") or message != text:
            self._send(text, message)
            return True
        if word in ("/quit", "/exit"):
            return False
        try:
            if known is None:
                hint = suggest_or_list(word, [name for name, _ in self._command_names()])
                raise UsageProblem(f"there is no {word}; {hint} (/help lists the commands)")
            known[1](self, rest.strip())
        except (UsageProblem, ToolkeelError, OSError, ValueError) as error:
            note(str(error), RED)
        return True

    def _send(self, text: str, message: Content) -> None:
        """Send a message with the files that it names; a line of a pipe names none."""
        paths = attached_paths(text) if can_ask() else []
        for path in missing_paths(text) if can_ask() else ():
            note(f"@{visible_line(path)}: there is no such file; sent as text", YELLOW)
        if paths:
            try:
                rules = self._agent.tools.rules
                message = asyncio.run(with_attachments(message, paths, rules))
            except (UsageProblem, ToolkeelError) as error:
                note(str(error), RED)
                self.steering.draft = text
                return
            note(f"attached: {visible_line(', '.join(paths))}", DIM)
        self._run(message)

    def _run(self, text: Content | None) -> None:
        shown = ReplyView(PlainView(), stdout_is_terminal(), self.steering.end_reply)
        watched = Pausable(shown)

        async def run(token: CancelToken) -> Any:
            options: dict[str, Any] = {"listeners": [watched], "cancel": token}
            options["session"] = self.sessions[self.name]
            if not can_ask():
                return await self._agent.run(text, **options)
            check = argument_check(self._agent.tools)
            options["approver"] = TerminalApprover(token.cancel, pause, check)
            going = self._agent.stream(text, **options)
            with self.steering.of(going):
                return await going

        @contextmanager
        def pause() -> Iterator[None]:
            with self.steering.paused(), watched.paused():
                yield

        try:
            with self.steering.screen() if can_ask() else nullcontext(), stdout_kept_clean():
                result = run_interruptible(run)
        except KeyboardInterrupt:
            note("stopped", YELLOW)
            return
        except OutputLost:
            raise
        except Exception as error:  # a model of the program's own raises anything; the chat goes on
            note(failure_line(error), RED)
            return
        finally:
            watched.close()
            session = self.sessions[self.name]
            for each in session.load_state().queued.values() if session.exists else ():
                note(f"unread until your next message: {visible_line(each.message.text)}", YELLOW)
        if result.has_output and shown.text != result.output:
            echo(str(result.output))
        if result.reason not in ("answered", "returned"):
            note(f"the run ended: {result.reason} {result.limit}".rstrip(), YELLOW)
        if result.usage.total_tokens:
            note(usage_line(result.usage, result.messages), DIM)

    def _go_on_if_it_waits(self) -> None:
        session = self.sessions[self.name]
        if session.exists and session.pending and can_ask():
            self._run(None)

    # — commands —

    def help(self, _: str) -> None:
        """List the commands."""
        for name, (told, _run) in COMMANDS.items():
            note(f"  /{name:10} {told}")
        note(f"  /{'quit':10} end the chat; the session stays saved")

    def new(self, name: str) -> None:
        """Begin another session."""
        self.name = name or f"chat-{datetime.now():%Y%m%d-%H%M%S}"
        self.greet()

    def resume(self, name: str) -> None:
        """Go on with another session; without a name, list them."""
        if not name:
            self.list("")
            return
        if not self.sessions[name].exists:
            raise UsageProblem(f"there is no session {name!r}; /sessions lists them")
        self.name = name
        for message in self.sessions[name].messages[-6:]:
            if message.text:
                note(visible_line(message.text)[:200], DIM)
        self.greet()

    def list(self, _: str) -> None:
        """List the sessions."""
        for info in self.sessions.list(scope="")[:20]:
            name, said = visible_line(info.name), visible_line(info.first)
            at = datetime.fromtimestamp(info.updated)
            note(f"  {name}  {at:%Y-%m-%d %H:%M}  {count(info.turns, 'turn')}  {said}")

    def fork(self, rest: str) -> None:
        """Go on in a copy, from a turn on."""
        turn, _, name = rest.partition(" ")
        if turn and not turn.isdecimal():
            raise UsageProblem("say /fork, /fork TURN or /fork TURN NAME")
        name = name.strip() or f"{self.name}-{datetime.now():%H%M%S}"
        self.sessions.fork(self.name, name, turn=int(turn) if turn else None)
        self.name = name
        self.greet()

    def compare(self, other: str) -> None:
        """Show what another session has in common with this one and what not."""
        found = compare(self.sessions[self.name], self.sessions[other])
        layout(compare_lines(found, width_of(sys.stdout)))

    def model(self, name: str) -> None:
        """Say who answers, or have another model answer."""
        if name:
            self._agent = self._make_agent(replace(self._launch, model=name))
        note(self._agent.model.name)

    def tools(self, _: str) -> None:
        """List the tools."""
        for tool in self._agent.tools:
            note(f"  {tool.name:20} {visible_line(tool.description)[:120]}")

    def permits(self, _: str) -> None:
        """List what was permitted for the session."""
        found = session_permits(self.sessions[self.name])
        for number, permit in enumerate(found, 1):
            note(f"  {number}  {visible_line(permit_words(permit))}")
        note("/revoke NUMBER takes one back" if found else "nothing is permitted", DIM)

    def revoke(self, number: str) -> None:
        """Take back what was permitted for the session."""
        found = session_permits(self.sessions[self.name])
        if not number.isdecimal() or not 0 < int(number) <= len(found):
            raise UsageProblem("say /revoke NUMBER; /permits lists them")
        permit = found[int(number) - 1]
        revoke_permit(self.sessions, self.name, permit)
        note(f"asks again: {visible_line(permit_words(permit))}", DIM)

    def export(self, path: str) -> None:
        """Write the session to a file."""
        if not path:
            raise UsageProblem("say /export FILE")
        export_command(self.name, Path(path))
        note(f"written to {path}", DIM)


COMMANDS: dict[str, tuple[str, Callable[[Chat, str], None]]] = {
    "help": ("list the commands", Chat.help),
    "new": ("[NAME] begin another session", Chat.new),
    "sessions": ("list the sessions", Chat.list),
    "resume": ("[NAME] go on with another session", Chat.resume),
    "fork": ("[TURN] [NAME] go on in a copy, from a turn on", Chat.fork),
    "compare": ("NAME what it has in common with this one", Chat.compare),
    "model": ("[NAME] say who answers, or have another answer", Chat.model),
    "tools": ("list the tools", Chat.tools),
    "permits": ("list what you approved for the session", Chat.permits),
    "revoke": ("NUMBER take such an approval back", Chat.revoke),
    "export": ("FILE write the session to a file", Chat.export),
}
"""What each does, and how."""
