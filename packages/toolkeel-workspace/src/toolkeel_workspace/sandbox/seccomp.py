"""A filter of system calls for commands in a sandbox, as the kernel's BPF program.

Everything is allowed but what no tool of a project needs and what has opened sandboxes before:
new namespaces and mounts, other processes' memory, kernel keys and modules, io_uring (which
reaches files and sockets past such filters), odd socket families, typing into the terminal, and
files that run as their owner (setuid): outside, that owner is the person, or root.
What is refused fails with EPERM. ``clone3`` and ``openat2``, whose flags a filter cannot read, the
calls of other architectures, and every call newer than those that were looked at fail with ENOSYS,
upon which libraries take the call they used before.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
from typing import NamedTuple

from toolkeel.errors import SetupError


class Machine(NamedTuple):
    """What a processor's calls are called.

    Args:
        audit: The kernel's number of the architecture.
        column: Where its numbers stand in the tables.
    """

    audit: int
    column: int


MACHINES = {"x86_64": Machine(0xC000003E, 0), "aarch64": Machine(0xC00000B7, 1)}
"""Processors whose numbers are known, by the name `os.uname` gives."""

_CALLS = """
acct:163:89 add_key:248:217 adjtimex:159:171 bpf:321:280 chroot:161:51 clock_adjtime:305:266
clock_settime:227:112 delete_module:176:106 fanotify_init:300:262 file_setattr:469:469
finit_module:313:273 fsconfig:431:431 fsmount:432:432 fsopen:430:430 fspick:433:433
get_mempolicy:239:236 init_module:175:105 io_uring_enter:426:426 io_uring_register:427:427
io_uring_setup:425:425 ioperm:173:-1 iopl:172:-1 kcmp:312:272 kexec_file_load:320:294
kexec_load:246:104 keyctl:250:219 listmount:458:458 lsm_get_self_attr:459:459
lsm_list_modules:461:461 lsm_set_self_attr:460:460 mbind:237:235 migrate_pages:256:238
modify_ldt:154:-1 mount:165:40 mount_setattr:442:442 move_mount:429:429 move_pages:279:239
name_to_handle_at:303:264 open_by_handle_at:304:265 open_tree:428:428 open_tree_attr:467:467
perf_event_open:298:241 pidfd_getfd:438:438 pivot_root:155:41 process_madvise:440:440
process_vm_readv:310:270 process_vm_writev:311:271 ptrace:101:117 quotactl:179:60
quotactl_fd:443:443 reboot:169:142 request_key:249:218 set_mempolicy:238:237
set_mempolicy_home_node:450:450 setns:308:268 settimeofday:164:170 statmount:457:457
swapoff:168:225 swapon:167:224 syslog:103:116 umount2:166:39 uselib:134:-1 userfaultfd:323:282
vhangup:153:58
"""
"""What is refused: its name, its numbers on x86_64 and aarch64; -1 where there is no such call."""
_REFUSED = {
    name: (int(on_x86), int(on_arm))
    for name, on_x86, on_arm in (call.split(":") for call in _CALLS.split())
}
LAST_REVIEWED = 469
"""The newest call that was looked at (``file_setattr`` of Linux 6.17, in November 2026)."""
_PERSONALITY = (135, 92)
_CLONE, _UNSHARE, _CLONE3, _OPENAT2 = (56, 220), (272, 97), (435, 435), (437, 437)
_SOCKET, _SOCKETPAIR, _IOCTL = (41, 198), (53, 199), (16, 29)
_OPEN, _OPENAT = (2, -1), (257, 56)

_NEW_NAMESPACES = 0x7E020080  # CLONE_NEW{CGROUP,UTS,IPC,USER,PID,NET,NS,TIME}
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_SETUID, _MAKES = 0o6000, 0x400040  # S_ISUID, S_ISGID; O_CREAT, __O_TMPFILE
_STREAM, _SEQPACKET = 1, 5
UNIX, INTERNET = (1,), (2, 10, 16)
"""Families of sockets: local ones; those of the internet, with AF_NETLINK, which tells routes."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
# offsets in struct seccomp_data
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _THIRD, _FOURTH = 0, 4, 16, 24, 32, 40
# Where the mode of a file stands: chmod, fchmod, mknod, creat; fchmodat, fchmodat2, mknodat.
_MODES = {
    _SECOND: ((90, -1), (91, 52), (133, -1), (85, -1)),
    _THIRD: ((268, 53), (452, 452), (259, 33)),
}
_ALLOW = 0x7FFF0000
_EPERM, _ENOSYS = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS


def program(*, families: tuple[int, ...] = UNIX + INTERNET, machine: str | None = None) -> bytes:
    """The filter, as an array of ``struct sock_filter``.

    Args:
        families: The families of which sockets may be opened. A pair of connected local ones
            always may, but without `UNIX` not of datagrams: those can be sent elsewhere.
        machine: Name of the processor; this one's by default.

    Raises:
        SetupError: if the processor's numbers are not known.

    >>> len(program(machine="x86_64")) % 8
    0
    """
    name = machine or os.uname().machine
    if name not in MACHINES:
        raise SetupError(f"there is no filter of system calls for the processor {name!r}")
    audit, column = MACHINES[name]
    code = [
        _op(_LOAD, _ARCHITECTURE),
        _op(_EQUAL, audit, 1, 0),
        _op(_RETURN, _ENOSYS),
        _op(_LOAD, _NUMBER),
    ]
    # Newer calls, and the x32 spelling of all, which stands far above.
    code += [_op(_AT_LEAST, LAST_REVIEWED + 1, 0, 1), _op(_RETURN, _ENOSYS)]
    for numbers in _REFUSED.values():
        if numbers[column] >= 0:
            code += [_op(_EQUAL, numbers[column], 0, 1), _op(_RETURN, _EPERM)]
    for unknown in (_CLONE3, _OPENAT2):
        code += [_op(_EQUAL, unknown[column], 0, 1), _op(_RETURN, _ENOSYS)]
    code += _setuid(column)
    for numbers in (_CLONE, _UNSHARE):
        code += _when(numbers[column], _FIRST, [_op(_ANY_BIT, _NEW_NAMESPACES, 0, 1)])
    code += _when(_IOCTL[column], _SECOND, [_op(_EQUAL, _TIOCSTI, 0, 1)])
    code += _when(_IOCTL[column], _SECOND, [_op(_EQUAL, _TIOCLINUX, 0, 1)])
    plain = [_op(_EQUAL, 0, 2, 0), _op(_EQUAL, 0xFFFFFFFF, 1, 0)]  # as it is, and asking for it
    code += _when(_PERSONALITY[column], _FIRST, plain)
    known = [_op(_EQUAL, family, len(families) - i, 0) for i, family in enumerate(families)]
    code += _when(_SOCKET[column], _FIRST, known)
    if UNIX[0] not in families:
        held = [_op(_AND, 0xF), _op(_EQUAL, _STREAM, 2, 0), _op(_EQUAL, _SEQPACKET, 1, 0)]
        code += _when(_SOCKETPAIR[column], _SECOND, held)
    return b"".join([*code, _op(_RETURN, _ALLOW)])


def _setuid(column: int) -> list[bytes]:
    """Refuse a file that runs as its owner or group, whichever call makes it one."""
    has = _op(_ANY_BIT, _SETUID, 0, 1)
    code = [
        part
        for offset, calls in _MODES.items()
        for numbers in calls
        for part in _when(numbers[column], offset, [has])
    ]
    for numbers, flags, mode in ((_OPEN, _SECOND, _THIRD), (_OPENAT, _THIRD, _FOURTH)):
        code += _when(numbers[column], flags, [_op(_ANY_BIT, _MAKES, 0, 3), _op(_LOAD, mode), has])
    return code


def _when(number: int, offset: int, test: list[bytes]) -> list[bytes]:
    """Refuse a call when a test of its argument falls through to the next instruction."""
    if number < 0:  # there is no such call here
        return []
    body = [_op(_LOAD, offset), *test, _op(_RETURN, _EPERM), _op(_LOAD, _NUMBER)]
    return [_op(_EQUAL, number, 0, len(body)), *body]


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


if sys.byteorder != "little":  # the low half of an argument would be elsewhere
    MACHINES.clear()
