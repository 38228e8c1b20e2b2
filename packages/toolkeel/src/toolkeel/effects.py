"""What running a tool can do to the world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import record


class Resource(str):
    """A resource as it stands, braces and all; a subclass may make its key of the arguments.

    As a text it is what people are shown, such as ``file:{path}``.
    """

    __slots__ = ()

    def key(self, arguments: Mapping[str, object]) -> str:
        """What a call with these arguments touches, such as ``file:src/main.py``."""
        return str(self)


class Shared(Resource):
    """A resource whose readers may overlap on the word of somebody who is believed nothing else."""

    __slots__ = ()


Label: TypeAlias = Literal["private", "stranger", "secret"]
LABELS: tuple[Label, ...] = get_args(Label)
"""What a run may have touched, and a way out must not pass on unasked."""


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
        private: Its result is nobody else's business: mail, files, a customer's data.
        stranger: Its result may hold text that neither the person nor the operator wrote, such as
            a page, a mail or an issue: what such a text asks for is nobody's wish.
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
        """Whether a run may change something."""
        return not self.read_only

    @property
    def repeatable(self) -> bool:
        """Whether a failed run may be tried again without asking."""
        return self.read_only or self.idempotent


UNKNOWN = Effects()
"""What holds for a tool whose author declared nothing."""

PURE = Effects(read_only=True, open_world=False)
"""A tool that only computes."""


def reads(*, private: bool = False, stranger: bool = False, outside: bool = False) -> Effects:
    """The effects of a tool that changes nothing.

    Args:
        private: Its result is nobody else's business.
        stranger: Its result may hold text that nobody here wrote.
        outside: It reaches other systems to read.

    >>> reads(stranger=True).stranger
    True
    """
    return Effects(True, open_world=outside, private=private, stranger=stranger)


def acts(*to: str, destructive: bool = True) -> Effects:
    """The effects of a tool that does something outside: sends, posts, books, pays.

    Args:
        to: The parameters that say where or whom.
        destructive: Whether it may overwrite or delete.

    >>> acts("recipient").target
    ('recipient',)
    """
    return Effects(destructive=destructive, target=to)
