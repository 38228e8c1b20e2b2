"""A server that only those may reach who bring a certificate: ``python tls_peer.py FOLDER [sse] PORT``."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path

import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("private")


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    uvicorn.run(
        server.sse_app() if "sse" in sys.argv else server.streamable_http_app(),
        port=int(sys.argv[-1]),
        log_level="error",
        ssl_certfile=folder / "server.pem",
        ssl_keyfile=folder / "server.key",
        ssl_ca_certs=str(folder / "ca.pem"),
        ssl_cert_reqs=ssl.CERT_REQUIRED,
    )
