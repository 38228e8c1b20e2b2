"""A process that resembles Windows: without the modules, functions and constants that only POSIX has.

`become_windows`, called first, loads what the standard library and dependencies need of this system, then removes what
Windows lacks and says that the platform is ``win32``. What it cannot show: paths with drives and
backslashes (`test_relative_path.py` has them), open files that cannot be replaced, and consoles.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import select
import signal
import socket
import sys
import types
from contextlib import suppress


def _names(text: str) -> list[str]:
    return text.split()


LOADED_BEFORE = _names(
    """
    asyncio subprocess multiprocessing multiprocessing.util concurrent.futures.process tempfile
    shutil ssl sqlite3 http.client http.server logging.handlers selectors uuid platform zoneinfo
    webbrowser getpass ctypes.util tomllib urllib.request mimetypes code codeop pdb pydantic
    jsonschema_rs openai anthropic botocore.session google.genai httpx2 anyio._backends._asyncio
    starlette.applications uvicorn.main sse_starlette mcp.client.stdio mcp.server typer click
    rich prompt_toolkit psycopg dbos ray keyring markdown_it jinja2 PIL numpy
    playwright.async_api qdrant_client opentelemetry.sdk
    """
)
POSIX_MODULES = _names(
    """
    fcntl resource termios tty pty pwd grp syslog posix readline curses
    """
)
POSIX_SIGNALS = _names(
    """
    SIGKILL SIGHUP SIGQUIT SIGUSR1 SIGUSR2 SIGALRM SIGCHLD SIGPIPE SIGSTOP SIGTSTP SIGCONT
    SIGWINCH SIGXCPU SIGXFSZ alarm setitimer getitimer ITIMER_REAL pthread_sigmask pthread_kill
    sigwait sigtimedwait SIG_BLOCK SIG_UNBLOCK
    """
)
POSIX_SOCKETS = _names(
    """
    AF_UNIX AF_NETLINK CMSG_LEN SCM_RIGHTS SO_PEERCRED SO_REUSEPORT send_fds recv_fds
    """
)
POSIX_OTHERS = {
    "select": ["poll"],
    "time": _names("tzset pthread_getcpuclockid"),
    "locale": _names("nl_langinfo"),
    "asyncio": _names("open_unix_connection start_unix_server"),
}
WINDOWS_OS = _names(
    """
    DirEntry F_OK O_APPEND O_CREAT O_EXCL O_RDONLY O_RDWR O_TRUNC O_WRONLY P_NOWAIT P_NOWAITO
    P_WAIT PathLike R_OK W_OK X_OK abc abort access altsep chdir chmod close closerange
    cpu_count curdir defpath device_encoding devnull dup dup2 environ error execl execle execlp
    execlpe execv execve execvp execvpe extsep fdopen fsdecode fsencode fspath fstat fsync
    ftruncate get_exec_path get_inheritable get_terminal_size getcwd getcwdb getenv getlogin
    getpid getppid isatty kill linesep link listdir lseek lstat makedirs mkdir name open pardir
    path pathsep pipe popen process_cpu_count putenv read readlink remove removedirs rename
    renames replace rmdir scandir sep set_inheritable spawnl spawnle spawnv spawnve st stat
    stat_result statvfs_result strerror supports_bytes_environ supports_dir_fd
    supports_effective_ids supports_fd supports_follow_symlinks symlink sys system terminal_size
    times times_result truncate umask uname_result unlink unsetenv urandom utime waitpid
    waitstatus_to_exitcode walk write GenericAlias Mapping MutableMapping SEEK_SET SEEK_CUR
    SEEK_END TMP_MAX EX_OK
    """
)
# The standard library of this system calls these itself.
LEFT_TO_THE_LIBRARY = {"WNOHANG", "WIFSTOPPED", "WSTOPSIG", "posix_spawn"}


def become_windows() -> None:
    """Remove from this process what Windows lacks."""
    for name in LOADED_BEFORE:
        with suppress(ImportError):
            importlib.import_module(name)
    for name in POSIX_MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for name in list(vars(os)):
        if not name.startswith("_") and name not in {*WINDOWS_OS, *LEFT_TO_THE_LIBRARY}:
            if isinstance(getattr(os, name), types.ModuleType):
                continue
            delattr(os, name)
    for names in ("supports_dir_fd", "supports_fd", "supports_follow_symlinks"):
        setattr(os, names, set())
    others = ((sys.modules[name], names) for name, names in POSIX_OTHERS.items())
    for module, names in ((signal, POSIX_SIGNALS), (socket, POSIX_SOCKETS), *others):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    for name in ("add_signal_handler", "remove_signal_handler"):
        setattr(asyncio.SelectorEventLoop, name, _not_implemented)
    socket.socketpair = _socketpair
    sys.modules["msvcrt"] = _msvcrt()
    sys.platform = "win32"
    sys.getwindowsversion = lambda: (10, 0, 22631)  # type: ignore[attr-defined, assignment]


def _not_implemented(*_: object) -> None:
    raise NotImplementedError


def _socketpair(*_: object) -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        return server.accept()[0], client


def _msvcrt() -> types.ModuleType:
    """Return the module with locks of bytes in files, as far as one process sees them.

    Its console is stdin, where a test types UTF-8.
    """
    made = types.ModuleType("msvcrt")
    locked: dict[tuple[int, int, int], int] = {}

    def locking(file: int, mode: int, _: int) -> None:
        found = os.fstat(file)
        key = (found.st_dev, found.st_ino, os.lseek(file, 0, os.SEEK_CUR))
        if mode == made.LK_UNLCK:
            locked.pop(key, None)
        elif locked.setdefault(key, file) != file:
            raise OSError(13, "locked by another")

    def has_key() -> bool:
        return sys.stdin.isatty() and bool(select.select([0], [], [], 0)[0])

    def read_key() -> str:
        first = os.read(0, 1)
        more = (first[0] >= 0xC0) + (first[0] >= 0xE0)
        return (first + os.read(0, more) if more else first).decode()

    console = {
        "kbhit": has_key,
        "getwch": read_key,
        "putwch": lambda letter: os.write(2, letter.encode()),
    }
    vars(made).update(LK_UNLCK=0, LK_LOCK=1, LK_NBLCK=2, locking=locking, **console)
    return made
