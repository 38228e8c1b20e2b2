"""The system call filter for sandboxed commands, as the kernel's BPF program.

Everything is allowed except what no development tool needs and what has broken sandboxes before: new
namespaces and mounts, other processes' memory, kernel keys and modules, io_uring (which reaches files
and sockets past such filters), unusual socket families, typing into the terminal, and setuid files, whose
owner outside is the person, or root. Refused calls fail with EPERM. ``clone3`` and ``openat2``, whose
flags a filter cannot read, calls of other architectures, and calls newer than the reviewed ones fail with
ENOSYS, so that libraries fall back to the older call.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
from typing import NamedTuple

from toolkeel.errors import SetupError


class Architecture(NamedTuple):
    """A processor architecture's constants.

    Args:
        audit: The kernel's number of the architecture.
        column: Its column in the tables of call numbers.
    """

    audit: int
    column: int


ARCHITECTURES = {"x86_64": Architecture(0xC000003E, 0), "aarch64": Architecture(0xC00000B7, 1)}
"""Architectures with known call numbers, by `os.uname().machine`."""

_REFUSED_CALLS = """
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
"""Refused calls: name, numbers on x86_64 and aarch64; -1 where there is no such call."""
_REFUSED = {
    name: (int(on_x86), int(on_arm))
    for name, on_x86, on_arm in (call.split(":") for call in _REFUSED_CALLS.split())
}
LAST_REVIEWED = 469
"""The newest reviewed call (``file_setattr`` of Linux 6.17, in November 2026)."""
_PERSONALITY = (135, 92)
_CLONE, _UNSHARE, _CLONE3, _OPENAT2 = (56, 220), (272, 97), (435, 435), (437, 437)
_SOCKET, _SOCKETPAIR, _IOCTL = (41, 198), (53, 199), (16, 29)
_OPEN, _OPENAT = (2, -1), (257, 56)

_NEW_NAMESPACES = 0x7E020080  # CLONE_NEW{CGROUP,UTS,IPC,USER,PID,NET,NS,TIME}
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_SETUID, _MAKES = 0o6000, 0x400040  # S_ISUID, S_ISGID; O_CREAT, __O_TMPFILE
_STREAM, _SEQPACKET = 1, 5
UNIX, INTERNET = (1,), (2, 10, 16)
"""Socket families: Unix sockets; IPv4, IPv6 and AF_NETLINK, which reads routes."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
# offsets in struct seccomp_data
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _THIRD, _FOURTH = 0, 4, 16, 24, 32, 40
# Position of the file mode argument: chmod, fchmod, mknod, creat; fchmodat, fchmodat2, mknodat.
_MODES = {
    _SECOND: ((90, -1), (91, 52), (133, -1), (85, -1)),
    _THIRD: ((268, 53), (452, 452), (259, 33)),
}
_ALLOW = 0x7FFF0000
_EPERM, _ENOSYS = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS


def build_filter(
    *, families: tuple[int, ...] = UNIX + INTERNET, architecture: str | None = None
) -> bytes:
    """Build the filter, as an array of ``struct sock_filter``.

    Args:
        families: Socket families that may be opened. Pairs of connected Unix sockets always may,
            but without `UNIX` no datagram pairs: those can send elsewhere.
        architecture: Name of the processor; this machine's by default.

    Raises:
        SetupError: if its call numbers are unknown.

    >>> len(build_filter(architecture="x86_64")) % 8
    0
    """
    name = architecture or os.uname().machine
    if name not in ARCHITECTURES:
        raise SetupError(f"there is no filter of system calls for the processor {name!r}")
    audit, column = ARCHITECTURES[name]
    code = [_bpf(_LOAD, _ARCHITECTURE), _bpf(_EQUAL, audit, 1, 0), _bpf(_RETURN, _ENOSYS)]
    code += [_bpf(_LOAD, _NUMBER)]
    # Newer calls, and the x32 numbers of all calls, which are far above.
    code += [_bpf(_AT_LEAST, LAST_REVIEWED + 1, 0, 1), _bpf(_RETURN, _ENOSYS)]
    for numbers in _REFUSED.values():
        if numbers[column] >= 0:
            code += [_bpf(_EQUAL, numbers[column], 0, 1), _bpf(_RETURN, _EPERM)]
    for unknown in (_CLONE3, _OPENAT2):
        code += [_bpf(_EQUAL, unknown[column], 0, 1), _bpf(_RETURN, _ENOSYS)]
    code += _refuse_setuid(column)
    for numbers in (_CLONE, _UNSHARE):
        code += _refuse_when(numbers[column], _FIRST, [_bpf(_ANY_BIT, _NEW_NAMESPACES, 0, 1)])
    code += _refuse_when(_IOCTL[column], _SECOND, [_bpf(_EQUAL, _TIOCSTI, 0, 1)])
    code += _refuse_when(_IOCTL[column], _SECOND, [_bpf(_EQUAL, _TIOCLINUX, 0, 1)])
    default = [_bpf(_EQUAL, 0, 2, 0), _bpf(_EQUAL, 0xFFFFFFFF, 1, 0)]  # 0xFFFFFFFF queries it
    code += _refuse_when(_PERSONALITY[column], _FIRST, default)
    known = [_bpf(_EQUAL, family, len(families) - i, 0) for i, family in enumerate(families)]
    code += _refuse_when(_SOCKET[column], _FIRST, known)
    if UNIX[0] not in families:
        stream = [_bpf(_AND, 0xF), _bpf(_EQUAL, _STREAM, 2, 0), _bpf(_EQUAL, _SEQPACKET, 1, 0)]
        code += _refuse_when(_SOCKETPAIR[column], _SECOND, stream)
    return b"".join([*code, _bpf(_RETURN, _ALLOW)])


def _refuse_setuid(column: int) -> list[bytes]:
    """Build the instructions that refuse setuid and setgid modes in every call that sets them."""
    has = _bpf(_ANY_BIT, _SETUID, 0, 1)
    code = [
        part
        for offset, calls in _MODES.items()
        for numbers in calls
        for part in _refuse_when(numbers[column], offset, [has])
    ]
    for numbers, flags, mode in ((_OPEN, _SECOND, _THIRD), (_OPENAT, _THIRD, _FOURTH)):
        code += _refuse_when(
            numbers[column],
            flags,
            [_bpf(_ANY_BIT, _MAKES, 0, 3), _bpf(_LOAD, mode), has],
        )
    return code


def _refuse_when(number: int, offset: int, test: list[bytes]) -> list[bytes]:
    """Build the instructions that refuse a call when a test of its argument falls through."""
    if number < 0:  # no such call on this architecture
        return []
    body = [
        _bpf(_LOAD, offset),
        *test,
        _bpf(_RETURN, _EPERM),
        _bpf(_LOAD, _NUMBER),
    ]
    return [_bpf(_EQUAL, number, 0, len(body)), *body]


def _bpf(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


if sys.byteorder != "little":  # the filter reads the low half of arguments
    ARCHITECTURES.clear()
