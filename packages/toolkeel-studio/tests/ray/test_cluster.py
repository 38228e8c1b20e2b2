"""The connection to Ray: who is refused, and what is said of it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.ray.head import started
from tests.shared import PYTHONPATH, cannot_run

pytestmark = pytest.mark.slow
APART = ["unshare", "-rn", "--pid", "--fork", "--kill-child", "--mount-proc"]
CALL = """
import dataclasses, sys
from tests.executors import executor_tools as tools
from toolkeel import ToolCall, Toolset
from toolkeel_studio.ray import Ray
tool = dataclasses.replace(tools.number, executor=Ray(sys.argv[1]), timeout=60)
try:
    print(Toolset([tool]).run_sync([ToolCall("c", "number", {"n": 3})])[0].text)
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.fixture(scope="module")
def head() -> Iterator[str]:
    with started() as address:
        yield address


def said_by(*words: str, **env: str) -> str:
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), PYTHONPATH)))
    whole = {**os.environ, "PYTHONPATH": path, **env}
    done = subprocess.run(
        words, env=whole, stdout=subprocess.PIPE, check=True, timeout=120, text=True
    )
    return done.stdout.strip()


def of_an_open_head(*beyond: str) -> str:
    """What is said of a head without a token, in a network of its own."""
    if subprocess.run([*APART, "true"], check=False, capture_output=True).returncode:
        cannot_run("no namespaces of the network can be made here")
    folder = tempfile.mkdtemp(prefix="keel-ray-")
    script = str(Path(__file__).with_name("open_head.py"))
    try:
        return said_by(*APART, sys.executable, script, folder, *beyond)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_head_that_asks_for_no_token_serves_where_no_other_machine_reaches_it() -> None:
    assert of_an_open_head() == "given 3"


def test_a_head_that_asks_for_no_token_is_refused_where_others_reach_it() -> None:
    said = of_an_open_head("192.0.2.7")
    assert said.startswith("SetupError the Ray cluster at 192.0.2.7:")
    assert "requires no token" in said
    assert said.endswith("&& RAY_AUTH_MODE=token ray start --head")


def test_a_port_that_is_open_at_any_address_of_the_machine_is_not_only_here() -> None:
    from toolkeel_studio.ray.cluster import _is_loopback_only

    psutil = import_module("psutil")
    found = [one.address for each in psutil.net_if_addrs().values() for one in each]
    beyond = [one for one in found if one[:4] not in ("127.", "::1") and one.count(":") != 5]
    if not beyond:
        cannot_run("this machine has no address but its own")
    with socket.create_server(("127.0.0.1", 0)) as here:
        port = here.getsockname()[1]
        assert _is_loopback_only(f"127.0.0.1:{port}")
        for one in beyond:
            family, *_, place = socket.getaddrinfo(one, port, type=socket.SOCK_STREAM)[0]
            with socket.create_server(place, family=family):
                assert not _is_loopback_only(f"127.0.0.1:{port}"), one


def test_no_file_that_a_model_wrote_beside_the_program_is_run_when_a_head_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = import_module("toolkeel_studio.ray.cluster")
    ran = tmp_path / "ran"
    for name in ("ray", "socket", "grpc"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"open({str(ran)!r}, 'w')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert not cluster._asks_for_token("127.0.0.1:9")
    assert not ran.exists()


def test_a_wrong_token_is_refused_and_the_right_one_is_not(head: str) -> None:
    assert said_by(sys.executable, "-c", CALL, head) == "3"
    wrong = said_by(sys.executable, "-c", CALL, head, RAY_AUTH_TOKEN="0" * 64)
    assert wrong.startswith("SetupError Ray() cannot connect to")


def test_where_nobody_listens_that_is_said_at_once_with_the_command_that_starts_one() -> None:
    since = time.monotonic()
    said = said_by(sys.executable, "-c", CALL, "127.0.0.1:9")
    assert time.monotonic() - since < 15  # mostly the start of a Python
    assert said.startswith("SetupError Ray() cannot connect to 127.0.0.1:9: ConnectionRefusedError")
    assert "ray start --head" in said
