"""The first minute works in environments that programs meet, or ends with an error that names the fix."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

MINUTE = f"{shlex.quote(sys.executable)} -m tests.newcomers_minute"
STARTED: dict[str, str] = {
    "no home": f"unset HOME XDG_DATA_HOME XDG_STATE_HOME; {MINUTE}",
    "an empty home": f"HOME= {MINUTE}",
    "the C locale": f"LC_ALL=C {MINUTE}",
    "a locale without UTF-8": f"LC_ALL=POSIX PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 {MINUTE}",
    "output in Latin-1": f"PYTHONIOENCODING=latin-1 {MINUTE}",
    "output in ASCII": f"PYTHONIOENCODING=ascii {MINUTE}",
    "no docstrings": f"PYTHONOPTIMIZE=2 PYTHONWARNINGS=error {MINUTE}",
    "warnings as errors, and checks": f"PYTHONWARNINGS=error PYTHONDEVMODE=1 {MINUTE}",
    "bytes compared with text": MINUTE.replace(" -m", " -bb -W error -m"),
    "no site": f"{MINUTE.replace(' -m', ' -S -m')}",
    "a safe path": f"PYTHONSAFEPATH=1 {MINUTE}",
    "no bytecode": f"PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 {MINUTE}",
    "a debugged event loop": f"PYTHONASYNCIODEBUG=1 {MINUTE}",
    "traced memory": f"PYTHONTRACEMALLOC=1 {MINUTE}",
    "an unknown time zone": f"TZ=No/Where {MINUTE}",
    "a file mode for the owner": f"umask 077; {MINUTE}",
    "no input": f"{MINUTE} <&-",
    "no output": f"{MINUTE} >&- && echo fine",
    "no errors": f"{MINUTE} 2>&-",
    "no streams": f"{MINUTE} <&- >&- 2>&- && echo fine",
    "few descriptors": f"ulimit -n 20; {MINUTE}",
    "a small stack": f"ulimit -s 256; {MINUTE}",
    "little memory": f"ulimit -v 1000000; {MINUTE}",
    "a program from input": f'{shlex.quote(sys.executable)} - < "$PROGRAM"',
    "proxies that are none": f"HTTP_PROXY=::x HTTPS_PROXY=::x ALL_PROXY=socks5://x {MINUTE}",
    "certificates that are none": f"SSL_CERT_FILE=/none REQUESTS_CA_BUNDLE=/none {MINUTE}",
    "no terminal": f"unset TERM COLUMNS LINES; NO_COLOR=1 {MINUTE}",
    "a large environment": f'export BIG="$(head -c 100000 /dev/zero | tr "\\0" x)"; {MINUTE}',
}
"""What a shell starts, by the environment."""

FORKED: dict[str, str] = {
    "an empty environment": "os.environ.clear()",
    "Chinese and spaces": "os.mkdir('会话 ü'); os.chdir('会话 ü'); os.environ['DB'] = '数据 库.db'",
    "a linked folder": "os.symlink('.', 'link'); os.chdir('link')",
    "a folder that is gone": "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone'); os.environ['DB'] = ':memory:'",
    "no folder for temporary files": "tempfile.tempdir = None; tempfile._candidate_tempdir_list = lambda: ['/none']",
    "a low limit of recursion": "sys.setrecursionlimit(250)",
    "threads that switch at once": "sys.setswitchinterval(1e-6)",
    "no collector": "gc.disable()",
    "a collector that runs at once": "gc.set_threshold(1)",
    "small stacks of threads": "threading.stack_size(262144)",
    "short numbers": "sys.set_int_max_str_digits(640)",
    "ignored signals": "[signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE)]",
    "no streams": "sys.stdin = sys.stdout = sys.stderr = None",
    "a log on a full disk": "logging.basicConfig(level=0, stream=open('/dev/full', 'w')); logging.raiseExceptions = False",
    "a trace": "sys.settrace(none); threading.settrace(none)",
    "a profile": "sys.setprofile(none); threading.setprofile(none)",
    "a clock of the past": "now = time.time; time.time = lambda: now() - 4e8",
    "no network": "socket.create_connection = socket.getaddrinfo = fail",
    "an unknown number of processors": "os.cpu_count = none",
    "no arguments": "sys.argv = []",
    "no open descriptors": "os.closerange(3, 200)",
    "a locale": "locale.setlocale(locale.LC_ALL, 'C')",
    "another thread": "other(minute)",
    "a loop in another thread": "asyncio.run(asyncio.to_thread(minute))",
    "a second minute": "minute(); os.environ['DB'] = 'second.db'",
    "a fork of a fork": "os.wait() if os.fork() else None",
}
"""What a process does before, by the environment."""

FORK_ALL = """
import asyncio, gc, locale, logging, os, signal, socket, sys, tempfile, threading, time, traceback, warnings
from tests.newcomers_minute import minute
def none(*_, **__): return None
def fail(*_, **__): raise OSError("no network")
def other(do):
    thread = threading.Thread(target=do)
    thread.start()
    thread.join()
warnings.simplefilter("ignore")
home = os.getcwd()
for number, (name, before) in enumerate(FORKED.items()):
    child = os.fork()
    if not child:
        code = 1
        errors = os.dup(2)
        try:
            os.mkdir(f"{home}/{number}")
            os.chdir(f"{home}/{number}")
            os.environ["DB"] = "d.db"
            exec(before)
            minute()
            code = 0
        except BaseException:
            text = traceback.format_exc()[-1500:]
            try: os.write(1, f"{name}: {text}\\n".encode())
            except OSError: pass
        os._exit(code)
    if os.waitpid(child, 0)[1]:
        print(name, flush=True)
"""

REFUSED: dict[str, tuple[str, str, str]] = {
    "a relative file in a folder that is gone": (
        "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')",
        "from toolkeel.sessions import Sessions; Sessions('d.db')['a'].messages",
        "SetupError: 'd.db' is relative to a working folder that has been removed",
    ),
    "a workspace in a folder that is gone": (
        "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')",
        "from toolkeel_workspace import Workspace; Workspace('.')",
        "SetupError: '.' is relative to a working folder that has been removed",
    ),
    "no folder for temporary files": (
        "tempfile.tempdir = None; tempfile._candidate_tempdir_list = lambda: ['/none']",
        "from toolkeel_workspace import Workspace; Workspace('.').tools",
        "SetupError: there is no folder for temporary files",
    ),
    "a data folder that cannot be made": (
        "os.environ['XDG_DATA_HOME'] = '/dev/null/x'; os.environ.pop('TOOLKEEL_DATA', None)",
        "from tests.newcomers_minute import Agent; Agent('offline').run_sync('hi', session='a')",
        "set TOOLKEEL_DATA to a folder that can be written",
    ),
}
"""What cannot work: what happens before, the program, and its error."""


def run(argv: list[str], folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        cwd=folder,
        env={**os.environ, "DB": "d.db", **more},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=100,
    )


@pytest.mark.slow
@pytest.mark.parametrize("environment", STARTED)
def test_the_first_minute_works_wherever_it_is_started(environment: str, tmp_path: Path) -> None:
    # All of them by name: without the module site, no editable installation is found.
    path = os.pathsep.join((str(Path(__file__).parents[1]), *filter(None, sys.path)))
    program = str(Path(__file__).with_name("newcomers_minute.py"))
    done = run(["bash", "-c", STARTED[environment]], tmp_path, PYTHONPATH=path, PROGRAM=program)
    # A debugged loop says which of its steps took 0.1 s, as any does on a busy machine.
    errors = [each for each in done.stderr.splitlines() if not each.startswith("Executing <")]
    assert (done.returncode, errors) == (0, []), done.stderr
    assert done.stdout == "fine\n"


@pytest.mark.slow
def test_the_first_minute_works_whatever_the_process_did_before(tmp_path: Path) -> None:
    done = run([sys.executable, "-c", f"FORKED = {FORKED!r}\n{FORK_ALL}"], tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("environment", REFUSED)
def test_what_cannot_work_names_its_fix(environment: str, tmp_path: Path) -> None:
    before, program, error = REFUSED[environment]
    code = f"import os, tempfile, tests.newcomers_minute, toolkeel_workspace\n{before}\n{program}"
    done = run([sys.executable, "-c", code], tmp_path)
    assert done.returncode == 1
    assert error in done.stderr.splitlines()[-1]
