"""Each extra with the lowest versions it declares and with the newest: installed, imported and used once.

    python -m scripts.lowest_versions                 # every extra, in environments below build/lowest
    python -m scripts.lowest_versions openai skills   # these

Needs `uv` and a package index. A line is printed for each extra and resolution; it ends with 1 if one failed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "lowest"
RESOLUTIONS = ("lowest-direct", "highest")
IMPORT = """
import importlib, pkgutil
def load(*names):
    for name in names:
        module = importlib.import_module(name)
        for each in pkgutil.iter_modules(getattr(module, "__path__", ())):
            load(f"{name}.{each.name}")
def ask(model):
    from toolkeel import Agent
    assert Agent(model).run_sync("hi").output == "hello"
from toolkeel import tool
@tool
def double(number: int) -> int:
    "Double a number."
    return 2 * number
"""
_MODEL = "load('toolkeel.providers.{0}'); from toolkeel.providers.{0}.model import {1}; ask({1}('m', base_url=SERVER, stream=False, {2}))"
_KEY = "api_key='x'"
_OPENAI = _MODEL.format("openai_chat", "OpenAIChat", _KEY)
USES = {
    "openai": f"{_OPENAI}\n{_MODEL.format('openai_responses', 'OpenAIResponses', _KEY)}",
    "anthropic": _MODEL.format("anthropic", "AnthropicMessages", _KEY),
    "bedrock": _MODEL.format("bedrock", "BedrockConverse", "region='us-east-1'"),
    "gemini": _MODEL.format("gemini", "Gemini", _KEY),
    "builtin": "load('toolkeel.builtin'); from toolkeel.builtin.calculator import tools\n"
    "assert '42' in str(tools()[0].invoke({'expression': '6 * 7'}))",
    "mcp": "load('toolkeel.mcp')",
    "keyring": "import keyring; keyring.get_keyring()",
    "postgres": "load('toolkeel.sessions.stores.postgres'); import psycopg; psycopg.pq.version()",
    "grammar": "from toolkeel.providers.grammar import arguments_grammar; arguments_grammar(double)",
    "otel": "from toolkeel.observe.opentelemetry_spans import OpenTelemetry; OpenTelemetry()",
    "cost": "from toolkeel.providers.prices import price_of; assert price_of('gpt-4o')",
    "web": "load('toolkeel_workspace.web'); import ddgs; from toolkeel_workspace.search.document_text import *\n"
    "assert 'seen' in read_document(b'<html><body><p>seen</p></body></html>', 'text/html').text",
    "search": "load('toolkeel_workspace.search.file_search', 'toolkeel_workspace.search.embeddings')\n"
    "import io, pypdf; pdf, out = pypdf.PdfWriter(), io.BytesIO(); pdf.add_blank_page(9, 9); pdf.write(out)\n"
    "from toolkeel_workspace.search.document_text import read_document\n"
    "read_document(out.getvalue(), 'application/pdf')",
    "pictures": "import io; from PIL import Image; from toolkeel_workspace.pictures.shrink import shrink\n"
    "out = io.BytesIO(); Image.new('RGB', (900, 900)).save(out, 'PNG'); assert shrink(out.getvalue(), 99).data",
    "skills": "from toolkeel_workspace.skills.front_matter import parse_skill\n"
    "parse_skill('---\\nname: a\\ndescription: b\\n---\\nc', 'a')",
    "code": "load('toolkeel_workspace.code'); from toolkeel_workspace import CodeInterpreterTool\n"
    "CodeInterpreterTool()",
    "browser": "load('toolkeel_workspace.computer')",
    "qdrant": "load('toolkeel_workspace.search.qdrant_store')",
    "cli": "import sys; from toolkeel_studio.cli.main import main; sys.argv = ['toolkeel', 'demo']; main()",
    "inspect": "load('toolkeel_studio.inspector')",
    "serve": "load('toolkeel_studio.serve.app', 'toolkeel_studio.serve.openai_api', 'toolkeel_studio.serve.vercel')",
    "acp": "load('toolkeel_studio.cli.acp_command', 'toolkeel_studio.serve.acp')",
    "agui": "load('toolkeel_compat.pydantic_ai.ag_ui')",
    "gateway": "load('toolkeel_studio.gateway')",
    "local": "load('toolkeel_studio.cli.local')",
    "eval": "load('toolkeel_studio.evals'); import yaml; yaml.safe_load('a: 1')",
    "dbos": "load('toolkeel_studio.durable')",
    "notebook": "load('toolkeel_studio.notebook'); load('IPython.display')",
    "ray": "load('toolkeel_studio.ray')",
    "openapi": "load('toolkeel_compat.openapi')",
    "langchain": "from toolkeel_compat.bridges.langchain import *; assert to_langchain(double).name == 'double'",
    "openai-agents": "from toolkeel_compat.bridges.openai_agents import *; to_openai_agents(double)",
    "pydantic-ai": "from toolkeel_compat.bridges.pydantic_ai_tools import *; to_pydantic_ai(double)",
}
REPLIES = {
    "/chat/completions": {
        "id": "1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
    },
    "/responses": {
        "id": "1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "tools": [],
        "parallel_tool_calls": True, "tool_choice": "auto",
        "output": [{"id": "2", "type": "message", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": "hello", "annotations": []}]}],
    },
    "/messages": {
        "id": "1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "stop_sequence": None, "content": [{"type": "text", "text": "hello"}],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "/converse": {
        "output": {"message": {"role": "assistant", "content": [{"text": "hello"}]}}, "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1},
    },
    ":generateContent": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "hello"}]}, "finishReason": "STOP"}],
    },
}  # fmt: skip


class Server(BaseHTTPRequestHandler):
    """Answers each provider's request with the text hello."""

    def do_POST(self) -> None:
        """Answer by the end of the path."""
        self.rfile.read(int(self.headers["content-length"]))
        path = self.path.partition("?")[0]
        reply = next((each for end, each in REPLIES.items() if path.endswith(end)), None)
        body = json.dumps(reply).encode()
        self.send_response(404 if reply is None else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def extras() -> dict[str, Path]:
    """The folder of the distribution that declares each extra of its own."""
    found: dict[str, Path] = {}
    for folder in sorted((ROOT / "packages").iterdir()):
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        for name, needed in project["optional-dependencies"].items():
            if (
                not all(each.startswith(("toolkeel[", "toolkeel-")) for each in needed)
                or name == "gateway"
            ):
                found.setdefault(name, folder)
    found["gateway"] = ROOT / "packages" / "toolkeel-studio"
    return found


def run(*command: str | Path, **options: object) -> str:
    """Run a command and return its output, which the error of one that fails has, too."""
    ended = subprocess.run(
        command,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        **options,  # type: ignore[call-overload]
    )
    if ended.returncode:
        raise RuntimeError(ended.stdout[-1500:])
    return str(ended.stdout)


def try_extra(name: str, folder: Path, resolution: str, server: str) -> None:
    """Install one extra in an environment of its own and use it."""
    place = PLACE / f"{name}-{resolution}"
    lock, python = place.with_suffix(".txt"), place / "bin" / "python"
    run("uv", "venv", "--quiet", "--clear", "--python", sys.executable, place)
    run(
        "uv", "pip", "compile", "--quiet", "--resolution", resolution, "--extra", name,
        "--python", python, "pyproject.toml", "--output-file", lock, cwd=folder,
    )  # fmt: skip
    run(
        "uv",
        "pip",
        "install",
        "--quiet",
        "--python",
        python,
        "--requirement",
        lock,
        "--editable",
        folder,
    )
    program = f"SERVER = {server!r}\n{IMPORT}\n{USES[name]}\n"
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    run(python, "-c", program, env={**os.environ, **keys}, cwd=place, timeout=300)


def main(names: list[str]) -> int:
    """Try extras, and return 1 if one does not work."""
    PLACE.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url, failed = f"http://127.0.0.1:{server.server_port}", 0
    declared = extras()
    for name in names or sorted(declared):
        for resolution in RESOLUTIONS:
            try:
                try_extra(name, declared[name], resolution, url)
                print(f"{name} {resolution}: works", flush=True)
            except Exception as error:
                failed = 1
                print(f"{name} {resolution}: FAILED\n{error}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
