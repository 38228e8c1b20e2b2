"""Every public name of the original is here, or answers with one line."""

from __future__ import annotations

import pytest

from tests.shared import peer
from toolkeel._lazy_exports import ReplacedName


@pytest.mark.slow
@pytest.mark.parametrize("module", ["agents", "agents.mcp", "agents.decorators"])
def test_every_public_name_is_here_or_says_what_to_write(module: str) -> None:
    import toolkeel_compat.openai_agents as ours

    unanswered = []
    for name in peer(module).__all__:
        try:
            getattr(ours, name)
        except ReplacedName as error:
            assert name in str(error)
        except AttributeError:
            unanswered.append(name)
    assert [name for name in unanswered if not name.startswith("__")] == []
