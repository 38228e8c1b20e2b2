"""Ranking and filters, as the SDK's programs give them, reach the provider."""

from __future__ import annotations

from toolkeel import Toolset
from toolkeel.compat.openai_agents import FileSearchTool, Filters, RankingOptions
from toolkeel.providers import openai_responses


def test_ranking_and_filters_reach_the_provider() -> None:
    search = FileSearchTool(
        ["vs_1"],
        ranking_options=RankingOptions(ranker="auto", score_threshold=0.7),
        filters=Filters(metadata={"部门": "engineering"}),
    )
    [body] = openai_responses.encode_tools(Toolset([search]))
    assert body["ranking_options"] == {"ranker": "auto", "score_threshold": 0.7}
    assert "部门" in str(body["filters"])
