"""Calls on a Ray cluster: placed by name, told while they run, gone when they are stopped.

    RAY_AUTH_MODE=token python examples/cluster.py ADDRESS

Without an address it starts a cluster of this machine alone, and ends it. Needs ``toolkeel[ray]``.
"""

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolkeel import Agent, ToolContext, ToolMessage, tool
from toolkeel.testing import Scripted, call


@tool
def render(scene: str, context: ToolContext) -> str:
    """Render a scene: this runs on a node of the cluster."""
    context.progress(f"rendering {scene}", 1, 2)
    return f"{scene}.png by process {os.getpid()}"


@tool(timeout=2)
def simulate() -> str:
    """Simulate without end: the deadline stops it, where it runs."""
    while True:
        time.sleep(0.1)


@tool
def save(name: str) -> str:
    """Save a picture: this runs here."""
    return f"saved {name} in process {os.getpid()}"


@contextmanager
def cluster() -> Iterator[str]:
    """A cluster of one node that asks for a token; its address."""
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    with tempfile.TemporaryDirectory(prefix="keel-", ignore_cleanup_errors=True) as folder:
        words = ["start", "--head", "--block", "--num-cpus=2", "--port=0", f"--temp-dir={folder}"]
        words += ["--include-dashboard=false", "--disable-usage-stats"]
        words += ["--object-store-memory=80000000"]
        told = Path(folder, "ray_current_cluster")
        program = [str(Path(sys.executable).with_name("ray")), *words]
        with subprocess.Popen(program, stdout=subprocess.DEVNULL) as head:
            try:
                while head.poll() is None and not (told.exists() and told.read_text().strip()):
                    time.sleep(0.1)
                yield told.read_text().strip()
            finally:
                head.terminate()


def main(address: str) -> None:
    from toolkeel.executors import with_executors  # Ray reads the token when it is imported
    from toolkeel_studio.ray import Ray

    tools = with_executors(
        [render, simulate, save], {"render": Ray(address), "simulate": Ray(address)}
    )
    scenes = [call("render", {"scene": scene}) for scene in ("harbour", "灯塔")]
    replies = [[*scenes, call("simulate")], call("save", {"name": "harbour.png"}), "Rendered."]
    result = Agent(Scripted(replies), tools).run_sync("Render both scenes.")
    for message in result.messages:
        if isinstance(message, ToolMessage):
            print(f"{message.name}: {message.kind or message.text.split(' ')[0]}")
    nodes = {message.text.split()[-1] for message in result.messages[2:4]}
    print("elsewhere:", str(os.getpid()) not in nodes)
    print("answer:", result.output)


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1])
    else:
        with cluster() as started:
            main(started)
