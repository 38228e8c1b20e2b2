"""W11 on all wires: an agent's turns over HTTP beside httpx with the same loop.

    python -m benchmarks.w11 [--rounds 3] [--runs 5] [--wires chat,bedrock]

A server on loopback answers with one call a turn. Each (wire, side, shape) is a process of its own;
the sides take turns. Figures are processor time of the client per turn.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.w11_wires import KEY, TURNS, WIRES, WORDS, Json, Wire, serve

Run = Callable[[bool], Awaitable[str]]
BOTO3 = "bedrock:boto3"
"""Bedrock beside AWS's own SDK instead of httpx."""


async def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: First.
        b: Second.
    """
    return a + b


def bare(name: str, url: str) -> Run:
    """httpx with a loop written for that one wire; the transcript's bytes are kept."""
    import httpx

    if name == BOTO3:
        return _through_boto3(url)
    wire = WIRES[name]
    client = httpx.AsyncClient(limits=httpx.Limits(max_connections=1000), timeout=600)
    head = json.dumps(wire.head)[:-1].encode() + b',"%s":[' % wire.key.encode()

    async def run(stream: bool) -> str:
        body = bytearray(json.dumps(wire.first).encode())
        tail = b'],"stream":true}' if stream and wire.streams else b"]}"
        headers = {"content-type": "application/json", **wire.headers}
        while True:
            ask = client.build_request(
                "POST", url + wire.path[stream], content=head + bytes(body) + tail, headers=headers
            )
            reply = await client.send(ask, stream=stream)
            said: Json = {"text": "", "id": "", "args": ""}
            if not stream:
                wire.read(reply.json(), said)
            elif name == "bedrock":
                await _take_frames(reply, wire, said)
            else:
                async for line in reply.aiter_lines():
                    if line.startswith("data: {"):
                        wire.take(json.loads(line[6:]), said)
            if not said["id"]:
                return str(said["text"])
            value = await add(**json.loads(said["args"]))
            for message in wire.back(said, value):
                body += b"," + json.dumps(message).encode()

    return run


def _through_boto3(url: str) -> Run:
    """AWS's own SDK with a loop for Bedrock, each request in a thread, as it has no other way."""
    import boto3  # type: ignore[import-untyped]
    from botocore.config import Config  # type: ignore[import-untyped]

    config = Config(read_timeout=600, max_pool_connections=128)
    client = boto3.client(
        "bedrock-runtime", endpoint_url=url, region_name="us-east-1", config=config
    )
    wire = WIRES["bedrock"]

    def ask(stream: bool, messages: list[Json]) -> Json:
        said: Json = {"text": "", "id": "", "args": ""}
        if not stream:
            wire.read(client.converse(modelId="m", messages=messages, **wire.head), said)
            return said
        reply = client.converse_stream(modelId="m", messages=messages, **wire.head)
        for event in reply["stream"]:
            wire.take(next(iter(event.values())), said)
        return said

    async def run(stream: bool) -> str:
        messages = [wire.first]
        while True:
            said = await asyncio.to_thread(ask, stream, messages)
            if not said["id"]:
                return str(said["text"])
            messages += wire.back(said, await add(**json.loads(said["args"])))

    return run


async def _take_frames(reply: Any, wire: Wire, said: Json) -> None:
    from botocore.eventstream import EventStreamBuffer

    frames = EventStreamBuffer()
    async for piece in reply.aiter_bytes():
        frames.add_data(piece)
        for event in frames:
            wire.take(json.loads(event.payload), said)


def ours(name: str, url: str) -> Run:
    """toolkeel's agent."""
    from toolkeel import Agent, models, tool

    make: Any = {  # a name of the models loads its SDK
        "chat": lambda **o: models.OpenAIChat("m", base_url=url + "/v1", api_key=KEY, **o),
        "responses": lambda **o: models.OpenAIResponses(
            "m", base_url=url + "/v1", api_key=KEY, **o
        ),
        "anthropic": lambda **o: models.AnthropicMessages("m", base_url=url, api_key=KEY, **o),
        "gemini": lambda **o: models.Gemini("m", base_url=url, api_key=KEY, **o),
        "bedrock": lambda **o: models.BedrockConverse("m", base_url=url, region="us-east-1", **o),
    }[name.partition(":")[0]]
    return agent_of(lambda stream: make(stream=stream, max_retries=0), Agent, tool(add))


def agent(base: str, tool_function: Callable[..., Awaitable[int]]) -> Run:
    """The kit's adapter: ``OURS=benchmarks/w11.py:agent``.

    Args:
        base: Where the kit's scripted server is.
        tool_function: The tool.
    """
    from toolkeel import Agent, tool
    from toolkeel.models import OpenAIChat

    def model(stream: bool) -> Any:
        return OpenAIChat("m", base_url=base, api_key="k", max_retries=0, stream=stream)

    return agent_of(model, Agent, tool(tool_function))


def agent_of(model: Callable[[bool], Any], agent_type: Any, made: Any) -> Run:
    agents = {
        stream: agent_type(model(stream), [made], max_turns=100_000) for stream in (False, True)
    }

    async def run(stream: bool) -> str:
        if not stream:
            return str((await agents[False].run("go")).output)
        async with agents[True].stream("go") as events:
            async for _ in events:
                pass
            return str(events.result.output)

    return run


SIDES = {"bare": bare, "ours": ours}
SHAPES = ("whole", "streamed", "many")


def work(name: str, side: str, shape: str, url: str, runs: int) -> None:
    """Measure one shape in this process; print microseconds of the processor per turn."""
    run = SIDES[side](name, url)

    async def measured() -> float:
        stream = shape == "streamed"
        assert await run(stream) == "".join(WORDS), await run(stream)
        begin = time.process_time()
        if shape == "many":
            count = 100
            await asyncio.gather(*(run(False) for _ in range(count)))
        else:
            count = runs
            for _ in range(runs):
                await run(stream)
        return (time.process_time() - begin) / (count * (TURNS + 1)) * 1e6

    print(asyncio.run(measured()))


class Counts:
    """Functions entered, Python's and C's, on all threads, and connections opened, while it is on."""

    def __init__(self) -> None:
        self.entered = 0
        self.connected = 0
        self._on = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        self.connected += self._on and event == "socket.connect"

    def _enter(self, frame: object, event: str, argument: object) -> None:
        self.entered += event in ("call", "c_call")

    def __enter__(self) -> Counts:
        gc.collect()
        gc.disable()
        self.entered = self.connected = 0
        self._on = True
        threading.setprofile(self._enter)
        sys.setprofile(self._enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
        self._on = False
        gc.enable()


def count(name: str, url: str) -> None:
    """Count what the second run of each side costs; print ``[side, streamed, entered, connected]``."""
    counts = Counts()

    async def counted(side: str, stream: bool) -> None:
        run = SIDES[side](name, url)
        said = await run(stream)
        with counts:
            again = await run(stream)
        assert said == again == "".join(WORDS), again
        print(json.dumps([side, stream, counts.entered, counts.connected]))

    for side in SIDES:
        for stream in (False, True):
            asyncio.run(counted(side, stream))


def main() -> None:
    """Measure all that was asked for, and print a table of ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--wires", default=",".join([*WIRES, BOTO3]))
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--work", nargs=4)
    parser.add_argument("--count", nargs=2, metavar=("WIRE", "URL"))
    given = parser.parse_args()
    if given.serve:
        return asyncio.run(serve())
    if given.count:
        return count(*given.count)
    if given.work:
        name, side, shape, url = given.work
        return work(name, side, shape, url, given.runs)
    me = [sys.executable, "-m", "benchmarks.w11"]
    os.environ |= {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": KEY}  # boto3 signs for nobody
    server = subprocess.Popen([*me, "--serve"], stdout=subprocess.PIPE, text=True)
    assert server.stdout
    url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
    try:
        print("| | " + " | ".join(given.shapes.split(",")) + " |")
        for name in given.wires.split(","):
            row = []
            for shape in given.shapes.split(","):
                took: dict[str, list[float]] = {side: [] for side in SIDES}
                for _ in range(given.rounds):
                    for side in SIDES:
                        asked = [*me, "--work", name, side, shape, url, "--runs", str(given.runs)]
                        done = subprocess.run(asked, capture_output=True, text=True, check=True)
                        took[side].append(float(done.stdout))
                least, most = (statistics.median(took[side]) for side in SIDES)
                row.append(f"{least:.0f} µs, {most:.0f} µs ({most / least:.2f}×)")
            print(f"| {name} | " + " | ".join(row) + " |", flush=True)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
