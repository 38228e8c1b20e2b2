"""How well models call tools, from journals: first-try validity, correction rate, latency, failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from toolkeel._records.entries import CallEnded, Entry, ModelAsked, ModelFailed, ModelReplied
from toolkeel.call.correction_counts import ACCEPTED, CORRECTABLE
from toolkeel.errors import MissingExtraError
from toolkeel.messages import ToolMessage, Usage
from toolkeel.model_interface import find_price

KEPT = 10_000
"""Maximum number of durations per tool used for percentiles."""


@dataclass
class ToolStats:
    """Calls of one tool.

    Args:
        name: Name of the tool.
        calls: Number of calls.
        first: Calls that do not follow a rejected call of the same tool in the same run.
        first_valid: First calls with valid arguments.
        refused: Calls with invalid arguments.
        corrected: Rejected calls followed by a valid one.
        turns: Total number of requests used for corrections.
        kinds: Failures by kind.
        fields: Invalid arguments by path.
        seconds: Durations of completed calls.
    """

    name: str
    calls: int = 0
    first: int = 0
    first_valid: int = 0
    refused: int = 0
    corrected: int = 0
    turns: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    fields: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    @property
    def first_try(self) -> float | None:
        """Share of first calls with valid arguments; None without calls."""
        return self.first_valid / self.first if self.first else None

    @property
    def correction(self) -> float | None:
        """Share of rejected calls that were corrected; None if no call was rejected."""
        return self.corrected / self.refused if self.refused else None

    def rank(self, share: float) -> float | None:
        """Return the duration that this share of calls did not exceed, in seconds; None without calls."""
        return percentile(self.seconds, share)


def price_of_usage(model: str, usage: Usage) -> float | None:
    """Return the price of tokens in US dollars; None if genai-prices is missing or has no price."""
    try:
        price = find_price(model)
    except MissingExtraError:
        return None
    return price(usage) if price else None


@dataclass
class ModelStats:
    """Requests to one model, and the validity of its calls.

    Args:
        name: Name of the model.
        requests: Successful requests.
        failures: Failed requests.
        usage: Total token usage.
        seconds: Durations of successful requests.
        calls: Finished calls that the model made.
        refused: Calls with invalid arguments or an unknown tool.
    """

    name: str
    requests: int = 0
    failures: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: list[float] = field(default_factory=list)
    calls: int = 0
    refused: int = 0

    @property
    def validity(self) -> float | None:
        """Share of its calls with valid arguments; None without calls."""
        return 1 - self.refused / self.calls if self.calls else None

    @property
    def cost(self) -> float | None:
        """Cost in US dollars by the prices of genai-prices; None if the model has no price."""
        return price_of_usage(self.name, self.usage)

    def rank(self, share: float) -> float | None:
        """Return the duration that this share of requests did not exceed, in seconds; None without any."""
        return percentile(self.seconds, share)


@dataclass
class Stats:
    """Stats of tools and models by name."""

    tools: dict[str, ToolStats] = field(default_factory=dict)
    models: dict[str, ModelStats] = field(default_factory=dict)


def percentile(seconds: Sequence[float], share: float) -> float | None:
    """Return the value that a share of values does not exceed (nearest rank).

    >>> percentile([3.0, 1.0, 2.0], 0.5), percentile([], 0.5)
    (2.0, None)
    """
    if not seconds:
        return None
    return sorted(seconds)[max(0, -int(-share * len(seconds) // 1) - 1)]


def stats_of(entries: Iterable[tuple[float, Entry]]) -> Stats:
    """Compute stats over journals.

    Args:
        entries: Time in epoch seconds and entry, session by session.
    """
    reader = StatsReader()
    for at, entry in entries:
        reader.add(at, entry)
    return reader.stats


class StatsReader:
    """Stats that are updated entry by entry.

    Attributes:
        stats: Stats of the entries added so far.
    """

    def __init__(self) -> None:
        self.stats = Stats()
        self._asked: dict[str, tuple[float, str]] = {}  # by run: time and model
        self._open: dict[
            tuple[str, str], list[int]
        ] = {}  # by run and tool: turns of rejected calls

    def add(self, at: float, entry: Entry) -> None:
        """Add one entry; entries of a session must be added in order.

        Args:
            at: Time of the entry in seconds since the epoch.
            entry: The entry.
        """
        match entry:
            case ModelAsked():
                self._asked[entry.run] = at, entry.model
            case ModelReplied():
                began, asked = self._asked.get(entry.run, (at, ""))
                model = self._model(entry.message.model or asked)
                self._asked[entry.run] = at, model.name
                model.requests += 1
                model.usage = model.usage + entry.message.usage
                if at > began and len(model.seconds) < KEPT:
                    model.seconds.append(at - began)
            case ModelFailed():
                self._model(entry.model or self._asked.get(entry.run, (at, ""))[1]).failures += 1
            case CallEnded():
                self._ended(at, entry)
            case _:
                pass

    def _model(self, name: str) -> ModelStats:
        """Return a model's stats; add empty ones if it has none."""
        return self.stats.models.setdefault(name, ModelStats(name))

    def _ended(self, at: float, entry: CallEnded) -> None:
        """Add a finished call to the stats of its tool and of the model that made it."""
        message = entry.message
        tool = self.stats.tools.setdefault(message.name, ToolStats(message.name))
        open = self._open.setdefault((entry.run, message.name), [])
        follows = bool(open) and open[0] < entry.turn  # a call of the same turn corrects nothing
        refused = message.kind in CORRECTABLE
        invalid = refused or message.kind == "unknown_tool"  # no schema could accept its arguments
        tool.calls += 1
        if message.kind is not None:
            tool.kinds[message.kind] += 1
        if not follows:
            tool.first += 1
            tool.first_valid += not invalid
        if not entry.within:
            model = self._model(self._asked.get(entry.run, (at, ""))[1])
            model.calls += 1
            model.refused += invalid
        if refused:
            tool.refused += 1
            tool.fields.update(_fields(message))
            open.append(entry.turn)
        elif message.kind in ACCEPTED:
            if len(tool.seconds) < KEPT:
                tool.seconds.append(message.duration)
            if follows:
                tool.corrected += 1
                tool.turns += entry.turn - open.pop(0)


def _fields(message: ToolMessage) -> Iterable[str]:
    """Yield the path of each invalid argument; list positions become ``[]``."""
    errors = message.details.get("errors", ())
    for error in errors if isinstance(errors, list | tuple) else ():
        path = error.get("path", ()) if isinstance(error, Mapping) else getattr(error, "path", ())
        yield ".".join("[]" if isinstance(part, int) else str(part) for part in path) or "arguments"
