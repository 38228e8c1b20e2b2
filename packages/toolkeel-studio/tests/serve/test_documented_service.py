"""The service of ``docs/front-ends.md``, as it stands there, with its users and who may decide."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import toolkeel.serve
from tests.gates.documents import blocks
from tests.serve.serving import chunks_of, serve
from tests.serve.talking import Talk, talking, text
from tests.serve.vercel.test_routes import PAY, decided, message, send
from tests.shared import ROOT, peer
from toolkeel.testing import Scripted
from toolkeel_studio.serve.app import app

ADA, BEN = {"authorization": "Bearer ada-secret"}, {"authorization": "Bearer ben-secret"}


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the program of the document in an empty folder; return its names."""
    peer("fastapi")
    page = (ROOT / "docs" / "front-ends.md").read_text("utf-8")
    [program] = [b.code for b in blocks(page) if "FastAPI(" in b.code and b.language == "python"]
    assert len(program.splitlines()) < 60
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(toolkeel.serve, "app", app, raising=False)
    Path("index.html").write_text("<title>Chat</title>", "utf-8")
    names: dict[str, Any] = {"__name__": "shop"}
    exec(compile(program, "docs/front-ends.md", "exec"), names)
    return names


def test_users_are_apart_and_only_ada_decides(service: dict[str, Any], tmp_path: Path) -> None:
    refund = [*PAY]
    refund[0] = type(refund[0])(0, "c1", "refund", '{"number": 1, "euros": 5}')
    refund[1] = type(refund[1])(0, "", "", "")
    model = Scripted([refund, refund, text("Paid back."), text("Hello.")])

    @talking
    async def use(talk: Talk) -> None:
        talk.close_later(service["chat"].state.channels)
        with service["agent"].override(model=model):
            async with serve(service["service"]) as client:
                assert "Chat" in (await client.get("/")).text
                client.base_url = client.base_url.join("/chat/")
                assert (await send(client, message("u1", "Hi."))).status_code == 403
                for user, status in ((BEN, 403), (ADA, 200)):
                    client.headers.update(user)
                    chunks = await chunks_of(await send(client, message("u1", "Pay it back.")))
                    [asked] = [c for c in chunks if c["type"] == "tool-approval-request"]
                    part = decided(asked["approvalId"], toolName="refund")
                    part["parts"][0].pop("input")
                    answered = await send(client, message("u1", "Pay it back."), part)
                    assert answered.status_code == status
                await talk.idle()
        assert "5 euros are paid back" in answered.text

    use(tmp_path)
    assert os.path.exists("talk.db")
