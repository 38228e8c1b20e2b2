"""The filter of system calls, run on an interpreter of its own against the kernel's rules."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.errors import SetupError
from toolkeel_workspace.sandbox.seccomp import (
    _REFUSED,
    ARCHITECTURES,
    INTERNET,
    LAST_REVIEWED,
    UNIX,
    build_filter,
)

ALLOW, KILLED = 0x7FFF0000, 0x00050000
X86 = ARCHITECTURES["x86_64"].audit


def decide(code: bytes, number: int, arguments: tuple[int, ...] = (), audit: int = X86) -> int:
    """What the program answers for a call, as the kernel would run it."""
    given = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("=IIQ6Q", number, audit, 0, *given)
    accumulator = at = 0
    while True:
        op, if_true, if_false, value = struct.unpack_from("=HBBI", code, at * 8)
        at += 1
        match op:
            case 0x20:
                accumulator = struct.unpack_from("=I", data, value)[0]
            case 0x15:
                at += if_true if accumulator == value else if_false
            case 0x35:
                at += if_true if accumulator >= value else if_false
            case 0x45:
                at += if_true if accumulator & value else if_false
            case 0x54:
                accumulator &= value
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"no such instruction: {op}")


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_every_refused_call_fails_and_its_neighbours_do_not(machine: str) -> None:
    audit, column = ARCHITECTURES[machine]
    code = build_filter(architecture=machine)
    refused = {numbers[column] for numbers in _REFUSED.values()}
    for number in range(600):
        answer = decide(code, number, audit=audit)
        if number in refused:
            assert answer == KILLED | errno.EPERM
        elif number in (435, 437) or number > LAST_REVIEWED:
            assert answer == KILLED | errno.ENOSYS
        elif number != (41, 198)[column]:  # a socket of family 0 is none
            assert answer == ALLOW, number


@given(st.integers(0, 2**32 - 1))
def test_new_namespaces_are_refused_whatever_else_the_flags_say(flags: int) -> None:
    wanted = KILLED | errno.EPERM if flags & 0x7E020080 else ALLOW
    assert decide(build_filter(architecture="x86_64"), 56, (flags,)) == wanted
    assert decide(build_filter(architecture="x86_64"), 272, (flags,)) == wanted


@pytest.mark.parametrize("families", [UNIX + INTERNET, INTERNET, ()])
def test_sockets_of_the_families_given_may_be_opened_and_no_others(
    families: tuple[int, ...],
) -> None:
    code = build_filter(families=families, architecture="x86_64")
    for family in range(50):
        wanted = ALLOW if family in families else KILLED | errno.EPERM
        assert decide(code, 41, (family,)) == wanted
    for kind in range(8):  # a pair; of datagrams (raw are the same) only where local ones may be
        for flags in (0, 0o2004000):
            wanted = ALLOW if kind in (1, 5) or 1 in families else KILLED | errno.EPERM
            assert decide(code, 53, (1, kind | flags)) == wanted


@pytest.mark.parametrize("machine", ARCHITECTURES)
@given(mode=st.integers(0, 0o7777), flags=st.integers(0, 2**23))
def test_no_call_makes_a_file_that_runs_as_its_owner(machine: str, mode: int, flags: int) -> None:
    audit, column = ARCHITECTURES[machine]
    code = build_filter(architecture=machine)
    refused = KILLED | errno.EPERM if mode & 0o6000 else ALLOW
    calls = ((90, -1), (91, 52), (133, -1), (85, -1)), ((268, 53), (452, 452), (259, 33))
    for at, several in enumerate(calls, 1):
        for number in (each[column] for each in several if each[column] >= 0):
            assert decide(code, number, (*[0] * at, mode), audit) == refused
    made = refused if flags & 0x400040 else ALLOW  # without these the mode is not looked at
    assert decide(code, (257, 56)[column], (0, 0, flags, mode), audit) == made
    if column == 0:
        assert decide(code, 2, (0, flags, mode), audit) == made


def test_calls_of_another_architecture_and_of_x32_are_unknown() -> None:
    code = build_filter(architecture="x86_64")
    assert decide(code, 39, audit=0x40000003) == KILLED | errno.ENOSYS
    assert decide(code, 0x40000000 + 39) == KILLED | errno.ENOSYS


def test_typing_into_the_terminal_is_refused_and_its_size_is_told() -> None:
    code = build_filter(architecture="x86_64")
    assert decide(code, 16, (0, 0x5412)) == KILLED | errno.EPERM
    assert decide(code, 16, (0, 0x1_0000_5412)) == KILLED | errno.EPERM  # the kernel takes 32 bits
    assert decide(code, 16, (0, 0x5413)) == ALLOW


def test_calls_newer_than_those_that_were_looked_at_are_unknown() -> None:
    """A higher number needs a look at each call between, and what sandboxes say of it."""
    assert LAST_REVIEWED == 469
    code = build_filter(architecture="x86_64")
    for number in (470, 1000, 0x3FFFFFFF):
        assert decide(code, number) == KILLED | errno.ENOSYS


def test_a_personality_can_be_asked_for_and_only_the_plain_one_taken() -> None:
    code = build_filter(architecture="x86_64")
    assert decide(code, 135, (0xFFFFFFFF,)) == ALLOW == decide(code, 135, (0,))
    for wanted in (8, 0x0040000, 0x8000000):
        assert decide(code, 135, (wanted,)) == KILLED | errno.EPERM


def test_an_unknown_processor_is_refused_by_name() -> None:
    with pytest.raises(SetupError, match="'vax'"):
        build_filter(architecture="vax")
