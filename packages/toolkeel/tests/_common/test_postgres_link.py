"""Deadlines of connections: a silent other side ends one statement, and nothing else."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qsl, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from toolkeel._common.postgres_link import PARAMETERS, Deadlines, with_parameters

TEXT = st.text("abcdefgh", min_size=1, max_size=8)


@given(st.dictionaries(st.sampled_from([*PARAMETERS, "host", "sslmode"]), TEXT))
def test_an_address_gets_the_parameters_that_it_does_not_have_and_keeps_its_own(
    own: dict[str, str],
) -> None:
    query = "&".join(f"{key}={value}" for key, value in own.items())
    made = with_parameters("postgresql://u@db/app" + (f"?{query}" if query else ""))
    found = parse_qsl(urlsplit(made).query)
    assert dict(found) == {key: str(value) for key, value in PARAMETERS.items()} | own
    assert len(found) == len(dict(found))
    assert with_parameters(made) == made


def test_a_socket_that_says_nothing_is_closed_at_its_deadline_and_another_one_is_not() -> None:
    deadlines = Deadlines()
    silent, _far = socket.socketpair()
    talks, answers = socket.socketpair()
    with deadlines.limit(talks.fileno(), 60) as is_late_too:
        with deadlines.limit(silent.fileno(), 0.05) as is_late:
            assert silent.recv(1) == b""  # it would wait forever
            assert is_late() and not is_late_too()
        answers.sendall(b"x")
        assert talks.recv(1) == b"x"
    for each in (silent, _far, talks, answers):
        each.close()


def test_what_ends_in_time_stays_open_and_threads_do_not_disturb_each_other() -> None:
    deadlines = Deadlines()
    done = threading.Barrier(8)

    def ask(_: int) -> bytes:
        near, far = socket.socketpair()
        with near, far:
            for _ in range(50):
                with deadlines.limit(near.fileno(), 30) as is_late:
                    far.sendall(b"x")
                    assert near.recv(1) == b"x" and not is_late()
            done.wait(30)
            far.sendall(b"y")
            return near.recv(1)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [b"y"] * 8
    assert deadlines._due == {}
