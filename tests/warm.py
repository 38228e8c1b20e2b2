"""A Python that has loaded what programs of tests import, and forks to run one: it saves a second of each.

``WARM`` stands for ``sys.executable`` in a command. The process that it starts hands its arguments, folder,
environment and standard streams to one that waits, ends when the program ends, as it ends, and takes the
program with it. While nothing waits (no fixture has started it, the system has no ``pidfd_open``), it
becomes a Python of its own.
"""

from __future__ import annotations

import _signal  # the modules above these two import what takes longer than all that is done here
import _socket
import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MODULES = (
    *("mcp.server.stdio", "mcp.server.subscriptions", "uvicorn"),
    *("toolkeel.mcp.server.stdio", "toolkeel_studio.gateway.gateway"),
)
"""What programs of tests import; what is not installed is left out."""
ADDRESS = f"/tmp/toolkeel-warm-{os.getuid()}-{os.getpid()}"
"""Where the process waits that this one starts."""
WARM = [sys.executable, "-IS", __file__, ADDRESS]
"""Begins a command whose words after it are those that follow ``sys.executable`` elsewhere."""


def ask(address: str, words: list[str]) -> None:
    """Let the waiting process run a program, and end as it ends; without one, become a Python that runs it."""
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        line.connect(address)
    except OSError:
        os.execv(sys.executable, [sys.executable, *words])
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    said = marshal.dumps((words, os.getcwd(), dict(os.environ)))
    line.sendmsg(
        [len(said).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
    )
    while said:
        said = said[line.send(said) :]
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    ended = int.from_bytes(line.recv(4) or b"\1", "big", signed=True)
    if ended < 0:
        os.kill(os.getpid(), -ended)
    os._exit(ended)


def wait(address: str) -> list[str]:
    """Load modules and fork for each who asks: return in the fork, with the words of its program.

    The process ends, and kills what it has forked, when its standard input ends.
    """
    import contextlib
    import gc
    import importlib
    import runpy  # noqa: F401  # for the forks
    import selectors
    import signal
    import socket

    for module in MODULES:
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(module)
    gc.freeze()
    events = selectors.DefaultSelector()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address + "~")
    listener.listen(64)
    os.rename(address + "~", address)
    running: dict[int, tuple[int, socket.socket]] = {}
    events.register(0, selectors.EVENT_READ, ("over", 0))
    events.register(listener, selectors.EVENT_READ, ("asked", 0))
    while True:
        for key, _ in events.select():
            what, child = key.data
            if what == "over":
                os.unlink(address)
                for each in running:
                    os.kill(each, signal.SIGKILL)
                os._exit(0)
            elif what == "asked":
                line, _ = listener.accept()
                words, child = fork_for(line)
                if words:
                    for each in (events, listener, line, *(held[1] for held in running.values())):
                        each.close()
                    for end, _ in running.values():
                        os.close(end)
                    return words
                if child:
                    end = os.pidfd_open(child)
                    running[child] = end, line
                    events.register(end, selectors.EVENT_READ, ("ended", child))
                    events.register(line, selectors.EVENT_READ, ("left", child))
            elif what == "left" and child in running:
                os.kill(child, signal.SIGKILL)
                events.unregister(running[child][1])
            elif what == "ended":
                end, line = running.pop(child)
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                events.unregister(end)
                os.close(end)
                if line in events.get_map():
                    events.unregister(line)
                    with contextlib.suppress(OSError):  # who asked ends at this moment, too
                        line.send(status.to_bytes(4, "big", signed=True))
                line.close()


def fork_for(line: Any) -> tuple[list[str], int]:
    """Fork for who asks on a line: its words in the fork, its number in the parent; 0 if who asked has left."""
    import socket

    head, streams, _, _ = socket.recv_fds(line, 4, 3)
    size, said = int.from_bytes(head, "big"), b""
    while len(said) < size and (more := line.recv(size - len(said))):
        said += more
    if not size or len(said) < size:
        line.close()
        return [], 0
    if number := os.fork():
        for stream in streams:
            os.close(stream)
        return [], number
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    words, folder, environment = marshal.loads(said)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    return words, 0


def run(words: list[str]) -> None:
    """Do what ``python WORDS`` does: a file, ``-c`` code or ``-m`` module."""
    import runpy

    if words[0] == "-m":
        sys.path.insert(0, os.getcwd())
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    main = sys.modules["__main__"] = type(sys)("__main__")
    if words[0] == "-c":
        name, code, folder = "<string>", words[1].encode(), ""
        sys.argv = ["-c", *words[2:]]
    else:
        name, folder = words[0], os.path.dirname(os.path.abspath(words[0]))
        with open(name, "rb") as file:
            code = file.read()
        main.__file__, sys.argv = name, words
    sys.path.insert(0, folder)
    exec(compile(code, name, "exec", dont_inherit=True), main.__dict__)


if __name__ == "__main__":
    if sys.argv[1] == "wait":
        run(wait(sys.argv[2]))
    else:
        ask(sys.argv[1], sys.argv[2:])
