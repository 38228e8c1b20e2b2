"""Models on this machine, running or not, and which one ``auto`` picks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from toolkeel._common.data_folder import find_home
from toolkeel.providers.default_model import OFFLINE, choose
from toolkeel.providers.discover import LocalModel, Server, find_servers
from toolkeel_studio.cli.doctor.section import Check, Section

_SHOWN = 8
_START = {
    "ollama": "start it with: ollama serve",
    "lmstudio": "start its server with: lms server start",
    "llamacpp": "start it with: llama-server -m model.gguf --jinja",
    "vllm": "start it with: vllm serve MODEL --enable-auto-tool-choice --tool-call-parser PARSER",
}
_PROGRAMS = {"ollama": "ollama", "lmstudio": "lms", "llamacpp": "llama-server", "vllm": "vllm"}


def check_models() -> Section:
    """Servers, folders of models, and the choice."""
    servers = find_servers()
    choice = choose(servers=servers)
    chosen = Check("-m auto", "ok", str(choice), data={"model": choice.model, "why": choice.why})
    return Section(
        "Models", (*map(_server, servers), *_folders(), chosen), _advice(choice.model, servers)
    )


def _server(server: Server) -> Check:
    if server.state == "up":
        return _running(server)
    data = {"url": server.url, "state": server.state}
    if server.state == "locked":
        fix = f"set {server.vendor.upper()}_API_KEY to the server's key"
        return Check(server.title, "problem", f"{server.url} wants a key", fix, data)
    if server.state == "loading":
        text = f"{server.url} is still loading its model; requests wait for it"
        return Check(server.title, "ok", text, data=data)
    if server.state == "other":
        text = f"what answers at {server.url} is something else"
        return Check(server.title, "missing", text, data=data)
    installed = shutil.which(_PROGRAMS[server.vendor]) is not None
    text = "installed, but not running" if installed else f"nothing at {server.url}"
    fix = _START[server.vendor] if installed else ""
    return Check(server.title, "missing", text, fix, data)


def _running(server: Server) -> Check:
    models = [
        {
            "name": one.name,
            "tools": one.tools,
            "vision": one.vision,
            "loaded": one.loaded,
            "context_length": one.context_length,
        }
        for one in server.models
    ]
    names = ", ".join(_model(one, server.vendor) for one in server.models[:_SHOWN]) or "no model"
    more = len(server.models) - _SHOWN
    text = f"{server.url}: {names}" + (f" and {more} more" if more > 0 else "")
    data = {"url": server.url, "state": server.state, "models": models}
    if server.best is not None:
        return Check(server.title, "ok", text, data=data)
    fix = "get a model that calls tools"
    fix += ", such as: ollama pull qwen3:8b" if server.vendor == "ollama" else ""
    return Check(server.title, "problem", text, fix, data)


def _model(model: LocalModel, vendor: str) -> str:
    no_tools = "no tools in its template: calls by grammar" if vendor == "llamacpp" else "no tools"
    words = [
        word
        for word, holds in (
            ("in memory", model.loaded),
            (no_tools, model.tools is False),
            ("sees", model.vision),
            (f"context {model.context_length or 0:,}", model.context_length),
        )
        if holds
    ]
    return f"{model.name} ({', '.join(words)})" if words else model.name


def _folders() -> Iterator[Check]:
    """Check where model files are, listed by a server or not."""
    home = find_home()
    if home is None:
        return
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    face = Path(os.environ.get("HF_HOME") or cache / "huggingface")
    places = (
        ("Ollama's files", Path(os.environ.get("OLLAMA_MODELS") or home / ".ollama" / "models")),
        ("LM Studio's files", home / ".lmstudio" / "models"),
        ("llama.cpp's files", Path(os.environ.get("LLAMA_CACHE") or cache / "llama.cpp")),
        ("Hugging Face's files", Path(os.environ.get("HF_HUB_CACHE") or face / "hub")),
    )
    for name, folder in places:
        if folder.is_dir():
            yield Check(name, "ok", str(folder), data={"folder": str(folder)})


def _advice(model: str, servers: Sequence[Server]) -> Sequence[str]:
    if model != OFFLINE:
        return (f"try it: toolkeel run 'What is 17 * 23?' -t calculator -m {model}",)
    running = any(server.state == "up" for server in servers)
    first = () if running else ("run a model here, such as: ollama pull qwen3:8b",)
    keys = "or set one of the keys above, for a hosted model"
    return (*first, keys, "or go on with rules alone: toolkeel demo")
