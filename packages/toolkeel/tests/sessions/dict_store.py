"""A third store: sessions in dictionaries; ``docs/sessions.md`` shows it as an example."""

from concurrent.futures import Future
from dataclasses import replace
from itertools import count
from threading import RLock

from toolkeel.sessions import Batch, NewPost, Post, Row, SessionInfo, SessionStore, Unchanged
from toolkeel.sessions.errors import SessionError


class DictStore(SessionStore):
    """Sessions in dictionaries, for one process."""

    def __init__(self) -> None:
        self.infos: dict[int, SessionInfo] = {}
        self.rows: dict[int, list[Row]] = {}
        self.posts: dict[int, list[Post]] = {}
        self.ids, self.lock = count(1), RLock()

    def list_sessions(self, scope: str | None) -> list[SessionInfo]:
        found = [each for each in list(self.infos.values()) if scope in (None, each.scope)]
        return sorted(found, key=lambda each: (each.updated, each.id), reverse=True)

    def find(self, scope: str, name: str) -> SessionInfo | None:
        return next((each for each in self.list_sessions(scope) if each.name == name), None)

    def get(self, id: int) -> SessionInfo:
        if (info := self.infos.get(id)) is None:
            raise SessionError("the session is gone: it was deleted")
        return info

    def create(
        self, scope: str, name: str, at: float, batch: Batch, parent: SessionInfo | None = None
    ) -> SessionInfo:
        with self.lock:
            if self.find(scope, name):
                raise SessionError(f"there is a session {name!r} already; choose another name")
            id, rows = next(self.ids), self.rows[parent.id][: batch.after] if parent else []
            self.infos[id] = SessionInfo(id, scope, name, at, at, head=len(rows))
            self.rows[id], self.posts[id] = rows, []
            self.append(id, batch).result()
            return self.infos[id]

    def delete(self, id: int) -> None:
        with self.lock:
            self.get(id)
            del self.infos[id], self.rows[id], self.posts[id]

    def append(self, id: int, batch: Batch) -> Future[None]:
        done: Future[None] = Future()
        with self.lock:
            try:
                info, posts = self.get(id), self.posts[id]
                if info.head != batch.after or not {p.id for p in posts} >= set(batch.taken):
                    raise SessionError("somebody else has written to the session")
            except SessionError as error:
                done.set_exception(error)
                return done
            self.rows[id] += batch.rows
            self.posts[id] = [post for post in posts if post.id not in batch.taken]
            self.infos[id] = replace(info, **batch.facts)
        done.set_result(None)
        return done

    def read(self, id: int, after: int, upto: int, kind: str = "") -> list[Row]:
        return [row for row in self.rows[id][after:upto] if kind in ("", row[2])]

    def post(self, id: int, post: NewPost, condition: Unchanged | None = None) -> bool:
        with self.lock:
            if condition is not None:
                rows = self.read(id, condition.head, self.get(id).head, condition.entry)
                new = [post for post in self.posts[id] if post.id > condition.last]
                if rows or condition.post in [post.kind for post in new]:
                    return False
            self.posts[self.get(id).id].append(
                Post(next(self.ids), post.at, post.who, post.kind, post.body)
            )
            return True

    def read_posts(self, id: int) -> list[Post]:
        return list(self.posts[self.get(id).id])
