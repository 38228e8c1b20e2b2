"""What `FileSearchTool` is told about ranking and filters, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from toolkeel._records.record import record

ImageGenerationToolConfig: TypeAlias = dict[str, Any]
"""The hosted tool's JSON; `ImageGenerationTool` refuses keys that it does not have."""


@record
class RankingOptions:
    """How found passages are ranked."""

    ranker: str | None = None
    score_threshold: float | None = None


@record
class Filters:
    """Which documents are searched."""

    metadata: Mapping[str, Any] | None = None
    file_ids: Sequence[str] | None = None
