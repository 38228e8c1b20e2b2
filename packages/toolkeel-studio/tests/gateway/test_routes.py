"""What a gateway offers besides tools, under names and addresses that lead back."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from tests.gateway.behind import PROGRAM, client_of, config
from tests.mcp.serving import deprecations
from tests.waiting import until
from tests.warm import WARM
from toolkeel._records.tickets import Ticket
from toolkeel_studio.gateway.gateway import Gateway
from toolkeel_studio.gateway.policy import Policy
from toolkeel_studio.gateway.routes import RoutingTable
from toolkeel_studio.gateway.status import STATUS_URI
from toolkeel_studio.gateway.upstream import ServerLists, Upstream

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    file = tmp_path / "content_server.py"
    file.write_text(PROGRAM, "utf-8")
    return [*WARM, str(file)]


@pytest.mark.parametrize("way", ["resource", "prompt", "none"])
def test_who_reads_a_resource_or_prompt_has_the_labels_of_its_server_s_tools(
    command: list[str], way: str
) -> None:
    policy = Policy(taint={"private": ["a__link"], "outward": ["a__change"]})
    asked: list[str] = []

    def no(ticket: Ticket) -> bool:
        return bool(asked.append(ticket.reason))

    async def use() -> None:
        async with client_of(Gateway([config("a", command)], policy, approver=no)) as client:
            if way == "resource":
                await client.read_resource("app://log")
            elif way == "prompt":
                await client.get_prompt("a__greet", {"name": "Ada"})
            await client.call_tool("a__change", {"text": "x"})

    asyncio.run(use())
    why = "it acts outward, and this client has read private data (a__link)"
    assert asked == ([] if way == "none" else [why])


@ERAS
@pytest.mark.parametrize("older", [False, True])
def test_prompts_resources_templates_and_completion_lead_to_their_server(
    command: list[str], era: str, older: bool
) -> None:
    async def use() -> None:
        there = dataclasses.replace(config("a", command), is_legacy=older)
        async with client_of(Gateway([there]), era) as client:
            [prompt] = (await client.list_prompts()).prompts
            assert prompt.name == "a__greet"
            filled = await client.get_prompt("a__greet", {"name": "Ada"})
            assert filled.messages[0].content.text == "Say hi to Ada."  # type: ignore[union-attr]
            reference = types.PromptReference(name="a__greet")
            found = await client.complete(reference, {"name": "name", "value": "A"})
            assert found.completion.values == ["Ada"]
            listed = (await client.list_resources()).resources
            [resource] = [each for each in listed if each.uri != STATUS_URI]
            [template] = (await client.list_resource_templates()).resource_templates
            assert (resource.uri, template.uri_template) == ("app://log", "app://city/{name}")
            for uri, said in (("app://log", "first"), ("app://city/Bonn", "Bonn")):
                read: Any = await client.read_resource(uri)
                assert read.contents[0].text == said
            with pytest.raises(MCPError, match="Resource not found"):
                await client.read_resource("other://x")
            with pytest.raises(MCPError, match="Did you mean 'a__greet'"):
                await client.get_prompt("a__great", {})

    asyncio.run(use())


def test_when_one_servers_lists_change_what_is_made_of_the_others_stays() -> None:
    def listed(*names: str) -> ServerLists:
        return ServerLists(
            {name: types.Tool(name=name, input_schema={}) for name in names}, {}, {}, {}
        )

    one, other = (Upstream(config(name, ["none"]), lambda: None) for name in ("one", "other"))
    one.lists, other.lists = listed("b", "a"), listed("c")
    before = RoutingTable([one, other], prefixed=True)
    one.lists = listed("d", "a")
    after = RoutingTable([one, other], True, before)
    assert list(after.tools) == ["one__d", "one__a", "other__c"]
    assert after.tools["other__c"] is before.tools["other__c"]
    assert after.tools["one__a"] is not before.tools["one__a"]
    assert list(RoutingTable([other], True, after).tools) == ["other__c"]


def test_a_template_that_cannot_be_matched_costs_nobody_elses_resources() -> None:
    one, other = (Upstream(config("new"), lambda: None) for _ in range(2))
    for server, uris in ((one, ["x{", "app://{a}{b}"]), (other, ["app://city/{name}"])):
        listed = {uri: types.ResourceTemplate(name="t", uri_template=uri) for uri in uris}
        server.lists = ServerLists({}, {}, {}, listed)
    table = RoutingTable([one, other], prefixed=True)
    assert table.resource("app://city/Bonn").server is other
    with pytest.raises(MCPError, match="Resource not found"):
        table.resource("other://x")


def test_no_text_of_a_prompt_resource_or_template_hides_anything() -> None:
    server = Upstream(config("new"), lambda: None)
    told = {"name": "n\x1b[2J", "title": "T\u202e", "description": "d\U000e0041"}
    uri = "a://\u202e"
    server.lists = ServerLists(
        {},
        {told["name"]: types.Prompt.model_validate(told)},
        {uri: types.Resource.model_validate({**told, "uri": uri})},
        {uri: types.ResourceTemplate.model_validate({**told, "uriTemplate": uri})},
    )
    table = RoutingTable([server], prefixed=True)
    for routes in (table.prompts, table.resources, table.templates):
        [(public, route)] = routes.items()
        shown = route.definition
        assert (shown.title, shown.description) == ("T", "d") and shown.name.isprintable()
        assert public == uri or route.name == told["name"]  # what is sent back is as it came


def test_addresses_that_two_servers_have_are_told_apart_and_come_back_as_asked(
    command: list[str],
) -> None:
    async def use() -> None:
        gateway = Gateway([config("a", command), config("b", command)])
        async with client_of(gateway) as client:
            listed = (await client.list_resources()).resources
            uris = [each.uri for each in listed if each.uri != STATUS_URI]
            assert uris == ["toolkeel+a:app://log", "toolkeel+b:app://log"]
            await client.call_tool("b__change", {"text": "second"})
            for uri, said in zip(uris, ("first", "second"), strict=True):
                read: Any = await client.read_resource(uri)
                assert (read.contents[0].uri, read.contents[0].text) == (uri, said)
            read = await client.read_resource("toolkeel+b:app://city/Bonn")
            assert read.contents[0].text == "Bonn"
            found = await client.get_prompt("b__greet", {"name": "log"})  # what a prompt shows, too
            assert found.messages[0].content.resource.uri == uris[1]  # type: ignore[union-attr]
            for uri in uris:  # as a link in a result does
                [link] = (await client.call_tool(f"{uri[9]}__link", {})).content
                assert isinstance(link, types.EmbeddedResource) and link.resource.uri == uri

    asyncio.run(use())


@ERAS
def test_structure_that_is_no_object_reaches_clients_of_both_eras(
    command: list[str], era: str
) -> None:
    async def use() -> None:
        async with client_of(Gateway([config("a", command)]), era) as client:
            tool, _ = (await client.list_tools()).tools
            assert tool.output_schema is not None and tool.output_schema["type"] == "object"
            result = await client.call_tool("a__change", {"text": "x"})
            assert result.structured_content == {"result": [1, 2]}

    asyncio.run(use())


@deprecations
@ERAS
def test_who_watches_a_resource_here_is_told_of_changes_there_as_long_as_it_does(
    command: list[str], era: str
) -> None:
    async def use() -> None:
        told: list[object] = []

        async def noticed(message: object) -> None:
            told.append(message)

        gateway = Gateway([config("a", command)])
        watched = gateway.servers["a"].link.watches._listening
        async with client_of(gateway, era, message_handler=noticed) as client:
            await client.list_resources()
            if era == "legacy":
                await client.subscribe_resource("app://log")
                await client.call_tool("a__change", {"text": "x"})
                await until(lambda: any(_updated(each) for each in told))
                assert watched
                await client.unsubscribe_resource("app://log")
                await until(lambda: not watched)
                return
            async with client.listen(resource_subscriptions=("app://log",)) as events:
                heard = asyncio.ensure_future(anext(aiter(events)))
                await client.call_tool("a__change", {"text": "x"})
                assert (await asyncio.wait_for(heard, 30)).uri == "app://log"  # type: ignore[union-attr]
                assert watched
            await until(lambda: not watched)

    asyncio.run(use())


def _updated(message: object) -> bool:
    return isinstance(message, types.ResourceUpdatedNotification)


def test_a_resource_that_is_also_a_template_keeps_its_address() -> None:
    one, other = (Upstream(config(name, ["true"]), _quiet) for name in ("one", "other"))
    resource = types.Resource(uri="app://log", name="log")
    template = types.ResourceTemplate(uri_template="app://log", name="log")
    one.lists = ServerLists({}, {}, {"app://log": resource}, {"app://log": template})
    table = RoutingTable([one, other], prefixed=True)
    assert list(table.resources) == list(table.templates) == ["app://log"]
    other.lists = ServerLists({}, {}, {"app://log": resource}, {})
    shared = RoutingTable([one, other], prefixed=True)
    assert list(shared.resources) == ["toolkeel+one:app://log", "toolkeel+other:app://log"]
    assert list(shared.templates) == ["toolkeel+one:app://log"]


def _quiet() -> None:
    """Hear nothing."""
