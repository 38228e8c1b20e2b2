"""One mechanism for every front end: messages, decisions and events of a session, in any process.

A front end is two pure functions around a `Channel`: one turns requests into `say`, `decide`, `answer`
and `cancel`, the other turns the items of `read` into its own wire. It runs no agent and holds no state
between requests::

    channels = Channels(agent, Sessions("talk.db"))       # one for the program
    channel = channels.open("thread-1", scope="ada")      # a name means nothing outside its scope
    await channel.say("Pay Ben 5 euros.", id="u1")        # starts a run, or joins the one that runs
    async for item in channel.read(follow=False):         # until nothing runs any more
        match item.body:
            case Streamed(delta=TextDelta(text=text)): ...     # a piece of the reply item.message_id
            case ModelReplied(message=message): ...            # the complete reply, also its calls
            case CallEnded(message=message): ...               # the result of item.call_id
            case Waits(ticket=ticket): ...                     # ask, and pass item.approval_id on
            case RunEnded(reason=reason): ...
    await channel.decide(approval_id, "approve", who="ada")    # the run continues, in the background

What to rely on:

- *Items* are journal entries (`toolkeel._records.entries`) and, between them, live events: pieces of a
  reply (`Streamed`), `Progress`, arguments as they ran (`ToolFinished`), events of inner agents
  (`Nested`). An entry never repeats what another entry said. Live items are an early form of the entry
  that follows: `ModelReplied` has all the text, so send of it only what was not sent as pieces. Live
  items may be missing: of a run in another process, and of replies that are long past.
- *Numbers* (`Item.number`, ``entry.delta``) only grow, in all runs of the session and in every process.
  `read(after=number)` continues where another reader left. A number also serves as an SSE id.
- *A call is announced once*, by the `ModelReplied` (and the `CallDelta` pieces) that made it. After
  ``waiting`` the same run continues: `run_id` stays the same, and a second `CallIntended` of the call
  is no new call.
- *Inner agents and tools' code*: `Item.within` is the call around. Skip such items, or nest them. An inner
  ticket comes twice, first inside, then as one of the session's own run; send the second one.
- *Readers* may stop, stall or come again. No run waits for them or ends with them.
- *Messages* are accepted once per `id`, in all processes. While something waits for a decision they stay
  in the inbox.
- *Approval ids* are opaque. They name the ticket and what was shown of it, so `decide` refuses one whose
  call has changed since, one of another session, and an invented one. The first decision counts; `decide`
  returns it to everybody who decides later. When the last open ticket is decided, the run continues.
- *External calls* (client tools) are answered by `answer` alone. Who may decide is not checked here.
- *Not for clients*: `Problem.error`, `RunEnded.error`, `ToolMessage.artifact` and `details`, reasoning
  signatures, `provider_options`, `RunBegan.instructions`, `StateChanged`. Send what you need, not the record.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from toolkeel._records.entries import Decided
from toolkeel._records.tickets import Reach, Ticket
from toolkeel.agent.agent import Agent
from toolkeel.content import Content
from toolkeel.context import Listener
from toolkeel.sessions.errors import DecisionRefused, SessionError
from toolkeel.sessions.run_from_journal import OnMessage
from toolkeel.sessions.session import Session
from toolkeel.sessions.sessions import Sessions
from toolkeel_studio.serve.client_tools import ClientTool, check_result
from toolkeel_studio.serve.decisions import (
    Choice,
    Verdict,
    decide_ticket,
    find_external,
    find_ticket,
)
from toolkeel_studio.serve.errors import ChannelError, UnknownApproval, UnknownSession
from toolkeel_studio.serve.items import Item, Position, approval_id_of, split_approval_id
from toolkeel_studio.serve.runner import Runner, end_runs
from toolkeel_studio.serve.snapshot import Snapshot, summarize, take_snapshot

LINGER_SECONDS = 60.0  # after its last use, the latest live items of a session stay readable
MAX_ID = 200  # characters of a client's message id


class Channels:
    """The sessions of an agent, as front ends use them; for one event loop.

    Args:
        agent: Answers.
        sessions: Where the sessions are; other processes may use them at the same time.
        deps: Makes the object for the agent's tools, from the scope of a session.
        options: Further options of each run, such as ``limits``; see `Agent.run`.
        listener: Makes a listener for the events of each run, from its session.
        on_message: What a message does while a call waits; see `Sessions.open`.
    """

    def __init__(
        self,
        agent: Agent[Any, Any],
        sessions: Sessions,
        *,
        deps: Callable[[str], object] | None = None,
        options: Mapping[str, Any] | None = None,
        listener: Callable[[Session], Listener] | None = None,
        on_message: OnMessage = "queue",
    ) -> None:
        self.agent, self.sessions = agent, sessions
        self._deps, self._listener = deps, listener
        self._on_message: OnMessage = on_message
        self.options = dict(options or {})
        self._runners: dict[tuple[str, str], Runner] = {}
        self._timers: dict[tuple[str, str], asyncio.TimerHandle] = {}

    def open(self, name: str, scope: str = "") -> Channel:
        """Return the channel of a session; the session is created by the first message.

        Raises:
            ChannelError: the name cannot name a session.
        """
        try:
            return Channel(self, self.sessions.open(name, scope))
        except SessionError as error:
            raise ChannelError(str(error)) from None

    def runner_of(self, session: Session) -> Runner:
        """Return the one runner of a session in this process."""
        key = session.scope, session.name
        if (timer := self._timers.pop(key, None)) is not None:  # it is used again
            timer.cancel()
        found = self._runners.get(key)
        if found is None:

            def options() -> Mapping[str, Any]:
                made = dict(self.options)
                if self._deps is not None:
                    made["deps"] = self._deps(session.scope)
                if self._listener is not None:
                    made["listeners"] = (*made.get("listeners", ()), self._listener(session))
                return made

            own = self.sessions.open(session.name, session.scope, on_message=self._on_message)
            found = Runner(self.agent, own, options, lambda: self.release(session))
            self._runners[key] = found
        return found

    def find_runner(self, session: Session) -> Runner | None:
        """Return the runner of a session that is in use in this process; None for any other."""
        return self._runners.get((session.scope, session.name))

    def release(self, session: Session) -> None:
        """Forget the live items of a session after a while, unless it is used then."""
        key = session.scope, session.name
        if key in self._runners and self._runners[key].is_unused and key not in self._timers:
            later = asyncio.get_running_loop().call_later
            self._timers[key] = later(LINGER_SECONDS, self._forget, key)

    def _forget(self, key: tuple[str, str]) -> None:
        self._timers.pop(key, None)
        if self._runners[key].is_unused:
            self._runners.pop(key).feed.close()

    @property
    def active(self) -> dict[tuple[str, str], Runner]:
        """The runners of sessions that run in this process, by scope and name."""
        runners = self._runners.copy()  # another thread may ask while this one adds a runner
        return {key: each for key, each in runners.items() if each.is_busy}

    async def wait(self) -> None:
        """Return when nothing runs in this process."""
        while busy := self.active:
            await asyncio.gather(*(runner.wait() for runner in busy.values()))

    async def close(self, reason: str = "", *, grace: float = 0.0) -> None:
        """End what runs in this process as `end_runs` does, and all readers."""
        await end_runs(self.active.values(), reason, grace)
        while self._timers:
            self._timers.popitem()[1].cancel()
        while self._runners:
            self._runners.popitem()[1].feed.close()


class Channel:
    """One session, as a front end uses it; `Channels.open` makes it."""

    def __init__(self, channels: Channels, session: Session) -> None:
        self.session = session
        self._channels = channels

    def __repr__(self) -> str:
        return f"Channel({self.session.name!r}, scope={self.session.scope!r})"

    @property
    def _runner(self) -> Runner:
        return self._channels.runner_of(self.session)

    def _check_exists(self) -> None:
        if not self.session.exists:
            raise UnknownSession("there is no such session")

    async def say(
        self,
        content: Content,
        *,
        id: str = "",
        who: str = "",
        tools: Sequence[ClientTool] | None = None,
        after: int = -1,
    ) -> bool:
        """Accept a message; a run starts, or the active one takes it before its next request.

        Args:
            content: Text, or texts, pictures and files.
            id: The client's id of the message. It is accepted once, in all processes.
            who: Who sends it.
            tools: Tools that the client runs, from `check_client_tools`; those of before if None.
            after: Number of an entry: only the first message after it is accepted. Ignored with an `id`.

        Returns:
            True if it was accepted now, False if one with this id, or after this entry, was before.

        Raises:
            ChannelError: the id is too long, or the message is empty.
        """
        if len(id) > MAX_ID or not id.isprintable():
            raise ChannelError(f"a message id has at most {MAX_ID} printable characters")
        if not content:
            raise ChannelError("the message is empty")
        say = self.session.say
        is_new = await asyncio.to_thread(say, content, who or "client", id=id, after=after)
        runner = self._runner
        if runner.is_writing:
            self.session.deliver()
        if tools is not None and is_new:
            runner.client_tools = tuple(tools)
        runner.start()
        return is_new

    async def decide(
        self,
        approval_id: str,
        verdict: Verdict,
        *,
        reason: str = "",
        arguments: Mapping[str, object] | None = None,
        value: object = None,
        reach: Reach = "call",
        who: str = "",
    ) -> Decided | None:
        """Decide a call that waits, or answer a server's question.

        Args:
            approval_id: As `Item.approval_id` or a snapshot had it.
            verdict: ``approve``, ``deny``, ``edit`` (with `arguments`) or ``answer`` (with `value`); of a
                question ``edit`` (fills its form in), ``deny`` and ``cancel``.
            reason: For the model, of a denial.
            arguments: All arguments of an edited call.
            value: The result of an answered call.
            reach: How far an approval extends; see `Ticket.approve`.
            who: Who decides.

        Returns:
            The earlier decision on this call, whoever made it; None if this one counts.

        Raises:
            UnknownApproval: no such call waits in the session, or it is not what was shown.
            InvalidDecision: the call does not permit this verdict, or the arguments do not fit it.
        """
        choice = Choice(verdict, reason, arguments, value, reach)
        id, seal = split_approval_id(approval_id)
        runner = self._channels.find_runner(self.session)
        if runner is not None and (question := runner.questions.get(id)) is not None:
            question.decide(seal, choice)
            return None
        first = await asyncio.to_thread(self.session.find_decision, id)
        if first is None:
            ticket = await asyncio.to_thread(find_ticket, self.session, id, seal)
            return await self._post(ticket, choice, who)
        if first.decision.seal != seal:
            raise UnknownApproval("the call that was shown is no longer pending")
        self._runner.start()
        return first

    async def was_decided(self, approval_id: str) -> bool:
        """Return True if somebody has decided exactly what this approval id names."""
        id, seal = split_approval_id(approval_id)
        first = await asyncio.to_thread(self.session.find_decision, id)
        return first is not None and first.decision.seal == seal

    async def answer(self, call_id: str, value: object, *, who: str = "") -> Decided | None:
        """Supply the result of an external call, by the call's id: a claim of the client.

        Returns:
            The earlier decision on this call; None if this one counts.

        Raises:
            UnknownApproval: no external call of this id waits.
            InvalidDecision: the value is no JSON data, or too long.
        """
        check_result(value)
        ticket = await asyncio.to_thread(find_external, self.session, call_id)
        return await self._post(ticket, Choice("answer", value=value), who)

    async def cancel(self, reason: str = "", *, who: str = "") -> None:
        """Cancel the run, wherever it is active, and also one that waits."""
        await asyncio.to_thread(self._check_exists)
        runner = self._channels.find_runner(self.session)
        if runner is None or not runner.cancel(reason or "canceled by the client"):
            await asyncio.to_thread(self.session.cancel, reason, who)

    async def end(self) -> None:
        """Cancel the run if there is one, also one that waits, and return when nothing runs."""
        head = await asyncio.to_thread(lambda: str(self.session.info.head))
        if await asyncio.to_thread(lambda: self.is_running or bool(self.session.pending)):
            await self.cancel()
            _ = [item async for item in self.read(head, follow=False)]

    async def resume(self) -> None:
        """Continue a run whose process was killed; act on decisions even if other calls still wait."""
        await asyncio.to_thread(self._check_exists)
        self._runner.start(continues=True)

    async def recover(self) -> bool:
        """Continue what a killed process has left; return True if something runs, here or elsewhere."""
        try:
            await self._runner.recover()
        finally:
            self._channels.release(self.session)
        return await asyncio.to_thread(lambda: self.is_running)

    async def read(self, after: str = "0", *, follow: bool = True) -> AsyncGenerator[Item, None]:
        """Yield the items after a number, first those that are there, then each new one.

        Args:
            after: `Item.number` of the last item that was read; ``0`` for all.
            follow: Continue when nothing runs any more, and wait for the next run.

        Raises:
            ChannelError: there is no such session, or `after` is no number of it.
        """
        async with aclosing(self.read_batches(after, follow=follow)) as batches:
            async for batch in batches:
                for item in batch:
                    yield item

    async def read_batches(
        self, after: str = "0", *, follow: bool = True, is_joined: bool = False
    ) -> AsyncGenerator[Sequence[Item], None]:
        """Yield the items as `read` does, each time all that are there.

        Args:
            after: See `read`.
            follow: See `read`.
            is_joined: Join adjacent pieces of one text that are there together.
        """
        place = Position.parse(after)
        if self._channels.find_runner(self.session) is None:
            await asyncio.to_thread(self._check_exists)
        runner = self._runner
        reading = runner.feed.read(place, follow=follow, is_joined=is_joined)
        try:
            async with aclosing(reading) as batches:
                async for batch in batches:
                    yield batch
        finally:
            self._channels.release(self.session)

    async def status(self) -> Snapshot:
        """Return the session as it is now, at little cost: without messages, unless something waits."""
        is_known = self._channels.find_runner(self.session) is not None
        if not (is_known or await asyncio.to_thread(lambda: self.session.exists)):
            return Snapshot("0.0")
        feed = self._runner.feed
        try:
            await feed.refresh(finds_writer=False)
        except SessionError:  # it was deleted
            return Snapshot("0.0")
        finally:
            self._channels.release(self.session)
        if feed.state.open_tickets or feed.state.outcome_tickets or feed.state.deferred:
            return await asyncio.to_thread(self.snapshot)
        return summarize(feed)

    def snapshot(self) -> Snapshot:
        """Return the session as it is now; one that does not exist yet is empty."""
        return take_snapshot(self.session) if self.session.exists else Snapshot("0.0")

    @property
    def is_running(self) -> bool:
        """True if a run is active, here or in another process."""
        runner = self._channels.find_runner(self.session)
        return (runner is not None and runner.is_busy) or self.session.writer is not None

    @property
    def questions(self) -> dict[str, Ticket]:
        """What servers ask during the calls that run here, by approval id; the oldest first."""
        if (runner := self._channels.find_runner(self.session)) is None:
            return {}
        return {approval_id_of(q.ticket): q.ticket for q in runner.questions.values()}

    async def _post(self, ticket: Ticket, choice: Choice, who: str) -> Decided | None:
        decision = decide_ticket(ticket, choice, self._channels.agent.tools)
        try:
            first = await asyncio.to_thread(self.session.decide, decision, who or "client")
        except DecisionRefused:  # it was canceled since it was read
            raise UnknownApproval("the call that was shown is no longer pending") from None
        self._runner.start()
        return first
