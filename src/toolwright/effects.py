"""What running a tool can do to the world."""

from __future__ import annotations

from toolwright.record import record


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
        resources: Keys of what is touched, with arguments in braces: ``file:{path}``.

    >>> Effects(read_only=True).writes
    False
    """

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True
    resources: tuple[str, ...] = ()

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
