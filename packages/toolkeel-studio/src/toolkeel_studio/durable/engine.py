"""DBOS, which moves runs: its tables, its queue, its schedules.

What stands in its tables is JSON: who shall run, and how it ended.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import wraps
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote, urlencode

from toolkeel._common.needs_extra import needs_extra
from toolkeel._common.postgres_link import with_parameters
from toolkeel.errors import SetupError
from toolkeel.sessions.errors import SessionError, SessionUnavailable
from toolkeel.sessions.stores.limited_connection import read_address
from toolkeel.sessions.stores.postgres import is_postgres
from toolkeel.sessions.stores.sqlite import checked_path
from toolkeel_studio.durable.connections import close_engine, open_engine
from toolkeel_studio.durable.fair_queue import WAITING
from toolkeel_studio.durable.orders import MAX_PRIORITY, RunOrder
from toolkeel_studio.durable.recovery import Recovery, load_recovery

with needs_extra("Durable runs", "dbos"):
    from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer, EnqueueOptions, WorkflowStatus
    from dbos import error as dbos_error
    from sqlalchemy import Engine, inspect
    from sqlalchemy.exc import OperationalError

RUN: Final = "toolkeel.run"
TICK: Final = "toolkeel.tick"
PREFIX: Final = "toolkeel-"
"""With which the names of our queues begin."""
_HASHED: Final = re.compile(r"_[0-9a-f]{16}$")
JOURNAL: Final = "journal-1"
"""What a worker must understand to take a run over: the journal, neither its tables nor the program."""
DEATHS: Final = "deaths"
"""Attribute of a run: attempts before it was last put back."""
RECOVERY: Final = "recovery"
"""Attribute of a run: its last attempt; see `toolkeel_studio.durable.recovery`."""
LOWEST_PRIORITY: Final = MAX_PRIORITY + 1
"""What the engine stores for priority 0; it takes the smallest number first."""


class JSONOnly(DBOSPortableJSONSerializer):
    """A serializer that reads JSON only; DBOS unpickles a row that claims to be a pickle."""


def _refusing(read: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(read)
    def checked(text: Any, form: str | None, serializer: object) -> Any:
        if isinstance(serializer, JSONOnly) and form not in (None, serializer.name()):
            raise SetupError(f"a row says it is {form!r}; nothing but JSON is read")
        return read(text, form, serializer)

    return checked


def _refuse_pickles() -> None:
    """Wrap the readers of every module of DBOS; programs with another serializer are unaffected."""
    modules = [module for name, module in sys.modules.items() if name.startswith("dbos.")]
    for name in ("deserialize_value", "deserialize_args", "deserialize_exception"):
        read: Callable[..., Any] = getattr(sys.modules["dbos._serialization"], name)
        for module in modules:
            if getattr(module, name, None) is read:
                setattr(module, name, _refusing(read))


_refuse_pickles()


def queue_name(agent: str) -> str:
    """Return the name of an agent's queue: different for different names, in any script.

    >>> queue_name("clerk"), queue_name("clerk a") == queue_name("clerk-a")
    ('toolkeel-clerk', False)
    """
    if re.fullmatch(r"[a-z0-9_-]{1,100}", agent) and not _HASHED.search(agent):
        return f"{PREFIX}{agent}"
    readable = re.sub(r"[^a-z0-9]+", "-", agent.lower()).strip("-")[:60]
    digest = sha256(agent.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{PREFIX}{readable}_{digest}"


def address_of(database: str) -> str:
    """Return the address of DBOS's tables in its own syntax, which libpq reads as well.

    Raises:
        SessionError: it is not an address, or names no database.

    >>> address_of("/srv/who?.db.runs"), address_of("postgresql://me@a:1,b/app")[:64]
    ('sqlite:////srv/who%3F.db.runs', 'postgresql://me@/app?connect_timeout=10&host=a%2Cb&port=1%2C5432')
    """
    if not is_postgres(database):
        return f"sqlite:///{quote(str(Path(database).absolute()))}"
    parts = read_address(with_parameters(database))
    user, password, name = (quote(parts.pop(k, ""), "") for k in ("user", "password", "dbname"))
    login = f"{user}:{password}@" if password else f"{user}@" if user else ""
    if not name:
        raise SessionError("the address of the runs names no database: postgresql://user@host/name")
    hosts, ports = parts.get("host", "").count(",") + 1, parts.get("port", "").split(",")
    if hosts > 1 and "port" in parts:  # SQLAlchemy knows neither empty ports nor one for all hosts
        ports = ports * hosts if len(ports) == 1 else ports
        parts["port"] = ",".join(each or "5432" for each in ports)
    return f"postgresql://{login}/{name}?{urlencode(parts, quote_via=quote)}"


def has_tables(database: str) -> bool:
    """Return True if a database has DBOS's tables, False also if it is a file that does not exist; nothing is created.

    Raises:
        SessionError: it cannot be reached, or is a file of another kind.
    """
    if not is_postgres(database):
        return Path(database).is_file() and _file_has_tables(Path(database))
    with _as_unreachable():
        engine = open_engine(address_of(database), 1)
        try:
            return bool(inspect(engine).has_table("workflow_status", schema="dbos"))
        finally:
            close_engine(engine)


def _file_has_tables(path: Path) -> bool:
    find = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'workflow_status'"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            return opened.execute(find).fetchone() is not None
    except sqlite3.OperationalError as error:
        raise SessionUnavailable(f"the database of the runs cannot be read: {error}") from None
    except sqlite3.DatabaseError as error:
        raise SessionError(f"{path} is no database of runs: {error}") from None


class RunQueue:
    """The queue of one agent's runs: what may be asked of it from any process.

    Args:
        database: Where DBOS keeps its tables, as for `Sessions`.
        name: Of the queue, and of the application that DBOS knows; empty for the queues of all agents.
    """

    def __init__(self, database: str, name: str = "") -> None:
        self.name = name
        self.address = address_of(checked_path(database, "Durable(database=...)"))
        if not is_postgres(database):
            place = Path(database).absolute()
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            place.touch(mode=0o600)  # its owner's alone: prompts stand in it
        with _as_unreachable():
            self._engine = self.open_engine(2)
            if self._engine is not None:
                self._engine.connect().close()  # a proxy is refused before DBOS uses it
            DBOS.migrate(self.address)
            self.client = DBOSClient(
                system_database_url=self.address,
                system_database_engine=self._engine,
                serializer=JSONOnly(),
                application_name=name or None,
                system_database_pool_size=2,
            )

    def open_engine(self, size: int) -> Engine | None:
        """Return an engine for DBOS with so many connections; None for a file, for which DBOS makes one."""
        return open_engine(self.address, size) if is_postgres(self.address) else None

    def close(self) -> None:
        """Close the connections."""
        self.client.destroy()
        if self._engine is not None:
            close_engine(self._engine)

    def put(self, order: RunOrder, queue: str = "") -> None:
        """Put a run into a queue, its own by default; a run with the same id is not added again."""
        queue = queue or self.name
        place = [order["scope"], order["session"]]
        options = EnqueueOptions(
            workflow_name=RUN,
            queue_name=queue + WAITING,
            workflow_id=order["id"],
            queue_partition_key=json.dumps(place, ensure_ascii=False),
            priority=LOWEST_PRIORITY - order.get("priority", 0),
            authenticated_user=order["scope"],
            app_version=JOURNAL,
            application_name=queue,
        )
        self.client.enqueue(options, dict(order))

    def has_queued(self, number: int, scope: str | None = None) -> bool:
        """Return True if at least so many runs wait in the queue, of one scope unless it is None."""
        found = self.client.list_workflows(
            status="ENQUEUED",
            queue_name=[self.name, self.name + WAITING],
            user=None if scope is None else [scope],
            limit=1,
            offset=number - 1,
            load_input=False,
            load_output=False,
        )
        return bool(found)

    def status(self, id: str) -> WorkflowStatus | None:
        """Return the status of a run, or None if there is no such run."""
        found = self.client.list_workflows(workflow_ids=[id])
        return found[0] if found else None

    def add_schedule(self, cron: str, name: str, context: dict[str, Any], missed: bool) -> None:
        """Add a schedule that starts runs, or replace the one of this name.

        Raises:
            SetupError: the times cannot be parsed, or another agent has a schedule of this name.
        """
        try:
            self.client.apply_schedules(
                [
                    {
                        "schedule_name": name,
                        "workflow_name": TICK,
                        "schedule": cron,
                        "context": context,
                        "automatic_backfill": missed,
                    }
                ]
            )
        except dbos_error.DBOSException as error:
            if "already registered by application" in str(error):
                raise SetupError(
                    f"another agent has a schedule {name!r} in this database: give schedule(name=...) "
                    "a name that no other agent uses"
                ) from None
            raise SetupError(
                f"schedule({cron!r}): no times in UTC; write minute hour day month weekday, such as "
                "'0 8 * * 1-5'"
            ) from None

    def unfinished(self, worker: str) -> list[WorkflowStatus]:
        """Return what a worker has taken and not ended."""
        return self.client.list_workflows(
            status="PENDING", executor_id=worker, app_version=JOURNAL, load_input=False
        )

    def requeue(self, worker: str, *, died: bool = True) -> list[str]:
        """Return a worker's unfinished runs to the queue. Return their ids.

        Args:
            worker: Its name.
            died: Count this as a death of the worker for each of its runs.
        """
        left = self.unfinished(worker)
        for each in left:  # DBOS forgets the number of attempts when a run is put back
            deaths = attempts_of(each) - (not died)
            self.client.update_workflow_attributes(each.workflow_id, {DEATHS: deaths}, merge=True)
        ids = [each.workflow_id for each in left]
        if ids:
            self.client.resume_workflows(ids, queue_name=self.name)
        return ids

    def record_attempt(self, id: str, attempt: Recovery) -> None:
        """Store the attempt at a run that starts now."""
        self.client.update_workflow_attributes(id, {RECOVERY: attempt.to_json()}, merge=True)


def recovery_of(status: WorkflowStatus) -> Recovery:
    """Return the last attempt at a run of which it is known that it began."""
    return load_recovery((status.attributes or {}).get(RECOVERY))


def queue_of(status: WorkflowStatus) -> str:
    """Return the name of the queue of a run's agent."""
    return (status.queue_name or status.application_name or "").removesuffix(WAITING)


def attempts_of(status: WorkflowStatus) -> int:
    """Return how many times workers have started a run, those that put it back excepted."""
    return int((status.attributes or {}).get(DEATHS, 0)) + int(status.recovery_attempts or 0)


@contextmanager
def _as_unreachable() -> Iterator[None]:
    """Report a database that cannot be reached as sessions do."""
    try:
        yield
    except OperationalError as error:
        raise SessionUnavailable(
            f"the database of the runs cannot be reached: {error.orig}"
        ) from None


def parse_end(status: WorkflowStatus) -> dict[str, str] | None:
    """Return how a run ended, or None if it has not."""
    match status.status:
        case "SUCCESS" if isinstance(found := status.output, dict) and "reason" in found:
            return {key: str(found[key]) for key in ("reason", "text", "error") if key in found}
        case "SUCCESS":
            return {"reason": "failed", "error": "its row cannot be read: it is another's"}
        case "ERROR":
            return {"reason": "failed", "error": str(status.error or "")}
        case "CANCELLED":
            return {"reason": "cancelled", "error": str(status.error or "")}
        case "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
            return {"reason": "failed", "error": "each worker that ran it has died"}
    return None


def parse_order(status: WorkflowStatus) -> RunOrder:
    """Return the order of a run.

    Raises:
        SetupError: the row was not written by `RunQueue.put`.
    """
    match status.input:
        case {"args": [{"session": str(), "scope": str()} as order]}:
            return cast("RunOrder", order)
    raise SetupError(f"the row of the run {status.workflow_id!r} cannot be read: it is another's")


def place_of(row: WorkflowStatus) -> tuple[str, str]:
    """Return scope and session of a run; empty names for a row that cannot be read."""
    try:
        order = parse_order(row)
    except SetupError:
        return "", ""
    return order["scope"], order["session"]
