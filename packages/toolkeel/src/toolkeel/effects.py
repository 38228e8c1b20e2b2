"""Effects of a tool: what running it can change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import record


class Resource(str):
    """A resource as written, such as ``file:{path}``. A subclass may compute its key."""

    __slots__ = ()

    def key(self, arguments: Mapping[str, object]) -> str:
        """Return the resource of a call, braces not yet filled in: here the text itself; a subclass computes it."""
        return str(self)

    def resolve(self, parameter: str, path: str) -> tuple[str, ...]:
        """Return the resolved path in each form that a rule may name; here empty, for a subclass to override.

        Args:
            parameter: The argument with the path.
            path: The path.
        """
        return ()


class Shared(Resource):
    """A resource whose calls may overlap although their tools count as writers."""

    __slots__ = ()


Label: TypeAlias = Literal["private", "stranger", "secret"]
LABELS: tuple[Label, ...] = get_args(Label)
"""Labels of a run; while it has one, calls that act outward need approval."""


@checked
@record
class Effects:
    """What the author declares about a tool's effects.

    The four hints are those of the Model Context Protocol (tool annotations, revision
    2026-07-28) with its cautious defaults; they drive approval, replay, parallelism and
    caching. `resources` adds what the protocol lacks: what exactly is read or written.

    Args:
        read_only: Changes nothing.
        destructive: May overwrite or delete; means nothing if `read_only`.
        idempotent: A second run with the same arguments changes nothing more.
        open_world: Reaches systems outside this process, such as the web.
        resources: Keys of what is touched, with arguments in braces: ``file:{path}``. They are
            paths in trees: who touches ``file:src`` touches ``file:src/main.py``, too.
        private: Its result is private: mail, files, a customer's data.
        stranger: Its result may hold text that neither the person nor the operator wrote, such as
            a page, a mail or an issue. Requests in such a text are not the person's.
        target: Names of the parameters that say where or whom: ``to``, ``url``, ``account``.
            Without any, all parameters together are the target.
        safe_after: Labels a run may have, of ``private``, ``stranger`` and ``secret``, without a
            person being asked about this tool: as for a search at a provider you chose.

    >>> Effects(read_only=True).writes
    False
    """

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True
    resources: tuple[str, ...] = ()
    private: bool = False
    stranger: bool = False
    target: tuple[str, ...] = ()
    safe_after: tuple[Label, ...] = ()

    @property
    def writes(self) -> bool:
        """True if a call may change anything."""
        return not self.read_only

    @property
    def repeatable(self) -> bool:
        """True if a failed call may be repeated without approval."""
        return self.read_only or self.idempotent


UNKNOWN = Effects()
"""The effects of a tool whose author declared none."""

PURE = Effects(read_only=True, open_world=False)
"""A tool that only computes."""


def reads(*, private: bool = False, stranger: bool = False, outside: bool = False) -> Effects:
    """Return the effects of a tool that changes nothing.

    Args:
        private: Its result is private.
        stranger: Its result may hold text by others.
        outside: It reaches other systems to read.

    >>> reads(stranger=True).stranger
    True
    """
    return Effects(True, open_world=outside, private=private, stranger=stranger)


def acts(*to: str, destructive: bool = True) -> Effects:
    """Return the effects of a tool that acts outside: sends, posts, books, pays.

    Args:
        to: The parameters that say where or whom.
        destructive: It may overwrite or delete.

    >>> acts("recipient").target
    ('recipient',)
    """
    return Effects(destructive=destructive, target=to)
