"""4. What lasts: sessions over a journal, and a store for tools (memory, persistence, resume).

errors            what can go wrong with sessions
stores            where sessions are stored: the protocol of a store, SQLite and PostgreSQL
session_lock      one writer per session, and the queue of runs that wait for it
journal           one session's numbered entries, durable when commit returns (writer: session_lock)
journal_state     the state computed from a journal's entries: values, open calls and tickets
transcript_state  the part of it that is the transcript, and what requests show of it
checkpoint        the state of a session at rest as an entry, and back (snapshot)
inbox             messages, decisions and cancels posted to a session by any process; a message counts once per id
decisions         decisions on calls that wait: the first counts, one that cannot count is refused
permits           what a person has permitted for a session: to list, and to take back
code_calls        calls that a tool's body makes, below the call around them; none runs twice after a crash
unknown_outcomes  calls of unknown outcome after a crash: run again, or ask a person
run_from_journal  a run resumes or begins, a message comes while a call waits (on_message); checkpoints
session           `Session`: a conversation that lasts, run after run
sessions          `Sessions`: a file of sessions to list, open, fork, export, delete
export            a session as JSONL and back, its tickets with new ids: also a fork that waits; and search in its text
history_policies  history policies: last turns, a budget of tokens, a summary by a model (trim, compact)
approval_queue    an approver whose calls wait in a store for a person, and how long (desk)
tool_memory       a store for tools: memory that outlives runs, by namespace and key (put, get, search, delete, TTL)
"""

from toolkeel.sessions.approval_queue import ApprovalQueue as ApprovalQueue
from toolkeel.sessions.errors import DecisionRefused as DecisionRefused
from toolkeel.sessions.errors import SessionBusy as SessionBusy
from toolkeel.sessions.errors import SessionError as SessionError
from toolkeel.sessions.errors import SessionIdle as SessionIdle
from toolkeel.sessions.errors import SessionUnavailable as SessionUnavailable
from toolkeel.sessions.export import SearchMatch as SearchMatch
from toolkeel.sessions.history_policies import KeepTokens as KeepTokens
from toolkeel.sessions.history_policies import KeepTurns as KeepTurns
from toolkeel.sessions.history_policies import Summarize as Summarize
from toolkeel.sessions.session import Session as Session
from toolkeel.sessions.sessions import Sessions as Sessions
from toolkeel.sessions.sessions import session as session
from toolkeel.sessions.stores.store import Batch as Batch
from toolkeel.sessions.stores.store import NewPost as NewPost
from toolkeel.sessions.stores.store import Post as Post
from toolkeel.sessions.stores.store import Row as Row
from toolkeel.sessions.stores.store import SessionInfo as SessionInfo
from toolkeel.sessions.stores.store import SessionStore as SessionStore
from toolkeel.sessions.stores.store import Unchanged as Unchanged
from toolkeel.sessions.tool_memory import Item as Item
from toolkeel.sessions.tool_memory import KeyValueStore as KeyValueStore
from toolkeel.sessions.tool_memory import Store as Store
