"""What the scripted model keeps and decides besides its replies: conversations, and decisions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]


class Conversations:
    """OpenAI's conversations: their items by id, in order."""

    def __init__(self) -> None:
        self._items: dict[str, list[Json]] = {}
        self._numbers = itertools.count(1)

    def answer(self, method: str, place: Sequence[str], body: Json) -> Json | None:
        """The answer to a request; None if there is none.

        >>> kept = Conversations()
        >>> id = kept.answer("POST", (), {})["id"]
        >>> said = {"items": [{"role": "user", "content": "hi"}]}
        >>> kept.answer("POST", (id, "items"), said)["data"][0]["content"][0]["text"]
        'hi'
        >>> len(kept.answer("GET", (id, "items"), {})["data"])
        1
        """
        if method == "POST" and not place:
            id = f"conv_{next(self._numbers)}"
            self._items[id] = []
            return {"id": id, "object": "conversation", "created_at": 1, "metadata": {}}
        id = place[0] if place else ""
        items = self._items.get(id)
        if items is None:
            return None
        if place[1:] == ["items"] or place[1:] == ("items",):
            given = items[::-1] if body.get("order") == "desc" else items
            return self._add(items, body) if method == "POST" else _page(given)
        if method == "DELETE" and len(place) == 3:
            items[:] = [item for item in items if item["id"] != place[2]]
        elif method == "DELETE":
            del self._items[id]
        return {"id": id, "object": "conversation.deleted", "deleted": True, "created_at": 1}

    def _add(self, items: list[Json], body: Json) -> Json:
        made = [_kept(item, f"item_{next(self._numbers)}") for item in body.get("items") or ()]
        items += made
        return _page(made)


def _kept(item: Json, id: str) -> Json:
    content = item.get("content")
    if isinstance(content, str):
        kind = "output_text" if item.get("role") == "assistant" else "input_text"
        item = {**item, "content": [{"type": kind, "text": content}]}
    return {"type": "message", "status": "completed", **item, "id": id}


def _page(items: list[Json]) -> Json:
    ends = {"first_id": items[0]["id"], "last_id": items[-1]["id"]} if items else {}
    return {"object": "list", "data": items, "has_more": False, **ends}


def decision(body: Json) -> Json:
    """An answer to each question of a request for decisions: the first choice, rather yes.

    >>> decision({"questions": [{"type": "predicate", "name": "sure"}]})["answers"]
    [{'type': 'predicate', 'name': 'sure', 'probability': 0.9}]
    """
    details = {
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, **details}
    answers = [_answer(question) for question in body.get("questions") or ()]
    about = {"id": "dec_1", "object": "decision", "created_at": 1, "model": body.get("model")}
    return {**about, "answers": answers, "usage": usage}


def _answer(question: Json) -> Json:
    made = {"type": question["type"], "name": question.get("name")}
    if question["type"] == "choice":
        choice = question["choices"][0]["value"]
        return {**made, "choice": choice, "confidence": 0.9, "probabilities": []}
    if question["type"] == "score":
        return {**made, "score": 0.0, "confidence": 0.9, "probabilities": []}
    return {**made, "probability": 0.9}
