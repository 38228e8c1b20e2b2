"""One workload of one peer, in a process of its own: ``python -m benchmarks.worker W4 toolkeel``."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import sys
import warnings

warnings.filterwarnings("ignore")
# The peers' own telemetry would be measured with them.
os.environ.update(
    OPENAI_API_KEY="none",
    OPENAI_AGENTS_DISABLE_TRACING="1",
    LANGSMITH_TRACING="false",
    OTEL_SDK_DISABLED="true",
    FASTMCP_LOG_LEVEL="CRITICAL",
)

from benchmarks.ours_alone import ALONE  # noqa: E402
from benchmarks.peer import Missing, load  # noqa: E402
from benchmarks.workloads import WORKLOADS  # noqa: E402


def main(workload: str, name: str) -> None:
    """Measure and print one line of JSON."""
    try:
        if workload in ALONE:
            answer = {"numbers": asyncio.run(ALONE[workload]()), "versions": {}}
        else:
            peer = load(name)
            numbers = asyncio.run(WORKLOADS[workload](peer))
            versions = {each: importlib.metadata.version(each) for each in peer.packages}
            answer = {"numbers": numbers, "versions": versions}
    except (Missing, ImportError) as error:
        answer = {"missing": str(error) or "it has none"}
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
