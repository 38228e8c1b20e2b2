"""A program: a head without a token, in a network of its own, and what `Ray()` says of it.

::

    unshare -rn --pid --fork --kill-child --mount-proc python open_head.py FOLDER [ADDRESS]

The network has nothing but this machine; with an address it has one that others would reach. All ends
with the program.
"""

from __future__ import annotations

import dataclasses
import fcntl
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

from tests.executors import executor_tools as tools
from tests.ray.head import address_in, start_words
from toolkeel import ToolCall, Toolset

SET_ADDRESS, SET_MASK, SET_FLAGS, UP = 0x8916, 0x891C, 0x8914, 1


def give(name: str, address: str) -> None:
    """Give an interface an address, and start it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for request, number in ((SET_ADDRESS, address), (SET_MASK, "255.255.255.0")):
            data = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(number))
            fcntl.ioctl(asked, request, struct.pack("16s16s", name.encode(), data))
        fcntl.ioctl(asked, SET_FLAGS, struct.pack("16sH14x", name.encode(), UP))


def main(folder: Path, *beyond: str) -> None:
    """Start a head, run a call on it, and print what came of it."""
    give("lo", "127.0.0.1")
    for address in beyond:
        give("lo:1", address)
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_ADDRESS"):
        os.environ.pop(name, None)
    os.environ["HOME"] = str(folder)  # where no token is
    words = start_words(folder, *(f"--node-ip-address={address}" for address in beyond))
    with open(folder / "log", "wb") as log:
        head = subprocess.Popen(words, stdout=log, stderr=log)
    address = address_in(folder, head)
    from toolkeel_studio.ray import Ray

    tool = dataclasses.replace(tools.number, executor=Ray(address), timeout=60)
    try:
        [message] = Toolset([tool]).run_sync([ToolCall("c", "number", {"n": 3})])
        print("given", message.text, flush=True)
    except Exception as error:
        print(type(error).__name__, error, flush=True)
    os._exit(0)  # the kernel ends the rest


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
