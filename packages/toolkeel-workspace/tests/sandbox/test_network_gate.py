"""A command with a network reaches what it may by its proxy, and nothing of this machine."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.sandbox.walls import need, run
from toolkeel.errors import SetupError
from toolkeel_workspace import Sandbox
from toolkeel_workspace.sandbox.confine import Network

ASK = """
import sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler(eval(sys.argv[2])))
try:
    print(opener.open(sys.argv[1], timeout=5).read().decode())
except Exception as error:
    print(type(error).__name__, getattr(error, "code", ""), getattr(error, "read", str)())
"""
BY_ENVIRONMENT = "__import__('urllib.request').request.getproxies_environment()"


class Asked(BaseHTTPRequestHandler):
    """Notes who asks, and answers."""

    paths: list[str]

    def do_GET(self) -> None:
        self.paths.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"the machine's own")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[ThreadingHTTPServer]:
    need("bubblewrap")
    Asked.paths = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Asked) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def asked(root: Path, network: Network, url: str, by: str) -> str:
    (root / "ask.py").write_text(ASK)
    sandbox = Sandbox("workspace", [root], network=network, backend="bubblewrap")
    return run(sandbox, f'NO_PROXY= no_proxy= python3 ask.py {url} "{by}"').stdout.decode()


@pytest.mark.parametrize("by", [BY_ENVIRONMENT, "{}"])
@pytest.mark.parametrize("network", [True, ["example.org"], ["*.example.org"]])
def test_a_service_on_this_machine_is_reached_neither_by_the_proxy_nor_past_it(
    service: ThreadingHTTPServer, network: Network, by: str, tmp_path: Path
) -> None:
    for host in ("127.0.0.1", "localhost", "0x7f000001", "[::ffff:127.0.0.1]"):
        said = asked(tmp_path, network, f"http://{host}:{service.server_port}/", by)
        assert said.startswith(("HTTPError 403", "URLError")), said
    assert Asked.paths == []


def test_what_may_not_be_reached_is_told_with_what_may(tmp_path: Path) -> None:
    need("bubblewrap")
    said = asked(tmp_path, ["example.org"], "http://169.254.169.254/latest", BY_ENVIRONMENT)
    assert "Allowed hosts: example.org" in said
    said = asked(tmp_path, True, "http://169.254.169.254/latest", BY_ENVIRONMENT)
    assert "not on the public internet" in said


def test_a_host_that_is_listed_with_its_port_is_reached_and_no_other(
    service: ThreadingHTTPServer, tmp_path: Path
) -> None:
    place = f"localhost:{service.server_port}"
    assert asked(tmp_path, [place], f"http://{place}/a", BY_ENVIRONMENT) == "the machine's own\n"
    said = asked(tmp_path, [place], f"http://127.0.0.1:{service.server_port}/b", BY_ENVIRONMENT)
    assert said.startswith("HTTPError 403") and Asked.paths == ["/a"]


def test_whoever_listens_inside_is_reached_there(tmp_path: Path) -> None:
    need("bubblewrap")
    sandbox = Sandbox("workspace", [tmp_path], network=True, backend="bubblewrap")
    line = "python3 -m http.server 8123 & sleep 1; curl -s http://127.0.0.1:8123/ | grep -c html"
    assert int(run(sandbox, line).stdout) > 0


def test_its_code_output_and_end_are_the_commands_own_and_nothing_is_left(tmp_path: Path) -> None:
    need("bubblewrap")
    sandbox = Sandbox("workspace", [tmp_path], network=True, backend="bubblewrap")
    finished = run(sandbox, "cat; echo a; echo b >&2; exit 7")
    assert (finished.exit_code, finished.stdout, finished.stderr) == (7, b"a\n", b"b\n")
    assert asyncio.run(sandbox.run(["nothing-of-the-kind"])).exit_code != 0
    assert run(sandbox, "sleep 60", timeout=0.5).end_reason == "timeout"
    sandbox.build_command(["true"]).close()  # one that was never started
    end = time.monotonic() + 5
    while left := [t for t in threading.enumerate() if t.name == "toolkeel-gate"]:
        assert time.monotonic() < end, left
        time.sleep(0.05)


def test_landlock_cannot_hold_to_the_public_internet_and_says_so(tmp_path: Path) -> None:
    for network in (True, ["example.org"]):
        with pytest.raises(SetupError, match="needs bubblewrap"):
            Sandbox("workspace", [tmp_path], network=network, backend="landlock")
    with pytest.raises(SetupError, match="network"):
        Sandbox("workspace", [tmp_path], network="false")  # type: ignore[arg-type]
