"""Logins of programs at a real authorization server: client credentials, by a secret or a key."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tests.mcp.authorizing import Authority, agreeing
from toolkeel import RunContext, SetupError, ToolCall, Toolset
from toolkeel.mcp.client.mcp_server import MCPServer, servers
from toolkeel.mcp.client.oauth.login import OAuth, delete_login, find_login
from toolkeel.mcp.config import read_config


@pytest.fixture
def authority(authority: Authority, far: str) -> Authority:
    prm = f"{far.removesuffix('/mcp')}/.well-known/oauth-protected-resource/mcp"
    authority.own_issuer = httpx2.get(prm).json()["authorization_servers"][0]
    authority.programs["ci"] = "hush"
    return authority


async def says(server: MCPServer, times: int = 1) -> list[str]:
    tools = Toolset(await server.get_tools())
    calls = [ToolCall(str(n), "echo", {"text": f"hi {n}"}) for n in range(times)]
    return [message.text for message in await tools.run(calls, RunContext())]


def use(*servers: MCPServer, times: int = 1) -> list[str]:
    """What all of them give, at once, each from a connection of its own."""

    async def main() -> list[str]:
        try:
            found = await asyncio.gather(*(says(server, times) for server in servers))
        finally:
            await asyncio.gather(*(server.close() for server in servers))
        return [text for each in found for text in each]

    return asyncio.run(main())


def write(tmp_path: Path, url: str, oauth: dict[str, Any], **others: Any) -> Path:
    file = tmp_path / "mcp.json"
    entries = {"far": {"url": url, "oauth": oauth}, **others}
    file.write_text(json.dumps({"mcpServers": entries}))
    return file


def of_file(file: Path) -> MCPServer:
    return MCPServer(f"{file}:far", trust=True, consent=True)


def test_a_file_of_servers_logs_a_program_in_once_for_all_that_use_it(
    far: str, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI_SECRET", "hush")
    oauth = {
        "grantType": "client_credentials", "clientId": "ci", "clientSecret": "${CI_SECRET}",
        "issuer": authority.own_issuer.rstrip("/"),
    }  # fmt: skip
    file = write(tmp_path, far, oauth)
    assert use(*(of_file(file) for _ in range(3)), times=2) == ["hi 0", "hi 1"] * 3
    assert [form["scope"] for form in authority.granted] == ["use"]
    assert use(of_file(file)) == ["hi 0"] and len(authority.granted) == 1
    assert "hush" not in "".join(
        path.read_text() for path in tmp_path.rglob("logins/*") if path.is_file()
    )
    authority.revoke()
    assert use(of_file(file), times=3) == ["hi 0", "hi 1", "hi 2"]
    assert (len(authority.granted), authority.logins) == (2, 0)
    asyncio.run(delete_login(read_config(file)["far"]))
    assert use(of_file(file)) == ["hi 0"] and len(authority.granted) == 3


@pytest.mark.parametrize("kind", ["ec", "rsa"])
def test_a_program_logs_in_with_its_key(
    far: str, authority: Authority, tmp_path: Path, kind: str
) -> None:
    key = (
        ec.generate_private_key(ec.SECP256R1())
        if kind == "ec"
        else rsa.generate_private_key(65537, 2048)
    )
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (tmp_path / "ci.pem").write_bytes(pem)
    authority.programs["signer"] = (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )
    oauth = {"clientId": "signer", "privateKey": "ci.pem", "issuer": authority.own_issuer}
    file = write(tmp_path, far, oauth)
    assert use(of_file(file), times=2) == ["hi 0", "hi 1"]
    assert [form["resource"] for form in authority.granted] == [far]


def test_a_call_that_needs_more_gets_a_token_with_more(far: str, authority: Authority) -> None:
    auth = OAuth(
        client_id="ci",
        client_secret="hush",
        grant="client_credentials",
        issuer=authority.own_issuer,
    )
    authority.calls_need = "write"
    assert use(MCPServer(far, trust=True, auth=auth)) == ["hi 0"]
    assert [set(form["scope"].split()) for form in authority.granted] == [{"use"}, {"use", "write"}]


def test_the_scope_of_the_program_wins_over_that_of_the_server(
    far: str, authority: Authority
) -> None:
    of_person = OAuth(scope="use write", visit=agreeing)
    assert use(MCPServer(far, trust=True, auth=of_person)) == ["hi 0"]
    assert authority.asked == [["use", "write"]]
    own = {"client_id": "ci", "client_secret": "hush", "grant": "client_credentials"}
    auth = OAuth(**own, issuer=authority.own_issuer, scope="write use")  # type: ignore[arg-type]
    assert use(MCPServer(far, trust=True, auth=auth)) == ["hi 0"]
    assert [form["scope"] for form in authority.granted] == ["write use"]


@pytest.mark.parametrize("grant", ["client_credentials", "authorization_code"])
def test_a_secret_goes_to_the_clients_own_authorization_server_alone(
    far: str, authority: Authority, grant: Any
) -> None:
    auth = OAuth(
        client_id="ci", client_secret="hush", grant=grant, issuer="https://idp.example.com"
    )
    with pytest.raises(SetupError, match=r"idp\.example\.com \(issuer\)"):
        use(MCPServer(far, trust=True, auth=auth))
    assert not authority.granted and not authority.asked


def test_a_program_that_is_refused_is_told_by_whom_and_why(far: str, authority: Authority) -> None:
    own = {"client_id": "ci", "grant": "client_credentials", "issuer": authority.own_issuer}
    auth = OAuth(**own, client_secret="wrong")  # type: ignore[arg-type]
    with pytest.raises(SetupError, match=r"refused by .* 'ci': invalid_client: unknown program"):
        use(MCPServer(far, trust=True, auth=auth))


@pytest.mark.parametrize(("changes", "told"), [
    ({"issuer": ""}, "issuer"), ({"client_id": ""}, "client_id"),
    ({"client_secret": ""}, "private_key"), ({"private_key": Path("k.pem")}, "either"),
])  # fmt: skip
def test_what_is_missing_for_a_login_without_a_person_is_named(
    changes: dict[str, Any], told: str
) -> None:
    auth = OAuth(
        client_id="ci", client_secret="s", grant="client_credentials", issuer="https://idp"
    )
    with pytest.raises(SetupError, match=told):
        MCPServer("https://mcp.example.com", auth=dataclasses.replace(auth, **changes))


@pytest.mark.parametrize("oauth", [
    {"grantType": "client_credentials", "clientId": "ci"}, {"grantType": "password"},
    {"clientId": "ci", "privateKey": "none.pem", "issuer": "http://127.0.0.1:9"},
])  # fmt: skip
def test_a_login_of_a_file_that_cannot_be_used_costs_that_server_alone(
    far: str, authority: Authority, tmp_path: Path, oauth: dict[str, str]
) -> None:
    file = write(tmp_path, far, oauth, other={"url": "https://other.example.com/mcp"})
    one, other = servers(file, consent=True)
    with pytest.raises(SetupError, match=r"grantType|needs|issuer"):
        use(one)
    assert find_login(other.config) is None


def test_a_key_that_cannot_sign_is_named(far: str, authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("hello")
    for name, told in (("no.pem", "holds no private key"), ("gone.pem", "cannot be read")):
        auth = OAuth(client_id="ci", private_key=tmp_path / name, issuer=authority.own_issuer)
        with pytest.raises(SetupError, match=told):
            use(MCPServer(far, trust=True, auth=auth))
