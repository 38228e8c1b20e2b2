"""The calls of a turn: written to the journal, run, and answered in the transcript in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolkeel._records.recorder import RESUMABLE, RunRecorder
from toolkeel.agent.transcript import order_last_results
from toolkeel.call.batch import Batch, skip_call
from toolkeel.call.correction_counts import Corrections
from toolkeel.call.failure_message import unknown_outcome_message
from toolkeel.call.steps.label_sources import attach_labels
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.define.options import external
from toolkeel.errors import Suspend
from toolkeel.messages import ToolCall, ToolMessage


class TurnCalls:
    """The calls of a run's current turn.

    Args:
        run: The run; results are appended to its transcript. Its loop state gets `is_repeatable`.

    Attributes:
        tools: The tools that can be called; set before the first turn.
        lenders: The tools of other agents that made calls of a resumed turn, by call id.
        waits: Calls that wait for a person or have not finished, by call id.
        corrections: How often the model corrected its calls.
    """

    tools: Toolset

    def __init__(self, run: RunContext) -> None:
        self.lenders: Mapping[str, Toolset] = {}
        self.waits: Mapping[str, Suspend] = {}
        self.corrections = Corrections()
        self._run = run
        self._batch: Batch | None = None
        run.loop_state.is_repeatable = self._is_repeatable

    async def run(self, calls: Sequence[ToolCall], *, resumed: bool) -> list[ToolMessage]:
        """Run the calls of a turn, store what waits, append results to transcript and journal, and return them.

        Results are appended also if it raises.

        Args:
            calls: In the model's order.
            resumed: True if the transcript may have other results of the turn already.

        Raises:
            SetupError: a mistake of the program.
            BaseException: cancellation from outside, and other exceptions that tools may not swallow.
        """
        run, recorder = self._run, self._run.recorder
        run.loop_state.joined_runs.clear()
        if not resumed:
            self.lenders = {}
        if recorder is not None:
            await self._record_intents(recorder, calls, resumed)
        batch = self._batch = self.tools.batch(calls, run, self.lenders)
        try:
            await batch.run()
        finally:
            self._batch = None
            results = batch.results
            if run.taint is not None and recorder is None:
                results = attach_labels(run, results)
            self._append(results, resumed)
            self.waits = batch.suspended
            if recorder is not None:
                tickets = [ticket for wait in self.waits.values() for ticket in wait.tickets]
                recorder.record_turn_results(tickets, run.state)
        self.corrections.record(results)
        return results

    def results_so_far(self) -> list[ToolMessage]:
        """Return the results known so far for calls that have none in the transcript yet.

        A call that has started and must not run twice has an unknown outcome. A call that has not
        started, or may run again, has no result here and runs when the run is resumed.
        """
        if self._batch is None:
            return []
        return [
            unknown_outcome_message(call) if message is None else message
            for call, message in self._batch.started_calls()
            if message is not None or not self._is_repeatable(call)
        ]

    def tools_for(self, call_id: str) -> Toolset:
        """Return the tools of the agent that made a call of this turn."""
        return self.lenders.get(call_id, self.tools)

    def _is_repeatable(self, call: ToolCall) -> bool:
        """Return True if a call may run again although its outcome is unknown."""
        return _is_repeatable(self.tools_for(call.id), call)

    def _is_resumable(self, call: ToolCall) -> bool:
        """Return True if a call may run again, or is an inner run, which continues from the journal."""
        tools = self.tools_for(call.id)
        return _is_repeatable(tools, call) or RESUMABLE in tools.find(call.name).tool.metadata

    def are_final(self, results: Sequence[ToolMessage]) -> bool:
        """Return True if every result is a success of a tool with `ends_run`, so that it is the answer."""
        if not (self.tools.has_ends_run or self.lenders):
            return False
        found = [(self.tools_for(each.tool_call_id), each) for each in results]
        return all(
            not result.failed and result.name in tools and tools.find(result.name).tool.ends_run
            for tools, result in found
        )

    def _append(self, results: Sequence[ToolMessage], resumed: bool) -> None:
        """Append results to the transcript; in a resumed turn, sort them into call order."""
        self._run.transcript.extend(results)
        if resumed:
            order_last_results(self._run.transcript)

    async def _record_intents(
        self, recorder: RunRecorder, calls: Sequence[ToolCall], resumed: bool
    ) -> None:
        """Write the intents of calls to the journal. If that raises, no call starts and all are skipped."""
        try:
            await recorder.record_intents(calls, self._is_resumable)
        except BaseException:
            self._append([skip_call(call, self._run) for call in calls], resumed)
            raise


def _is_repeatable(tools: Toolset, call: ToolCall) -> bool:
    """Return True if a call may run again after a crash: repeatable, external, or of an unknown tool."""
    try:
        tool = tools.find(call.name).tool
        return tool.effects.repeatable or tool.executor is external
    except Exception:  # there is no such tool, so nothing has run
        return True
