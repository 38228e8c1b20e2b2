"""Examples that need an extra run as they stand, too, and say what they promise."""

import pytest

from tests.test_examples import ran

SAYS = {
    "document_search.py": ["found: entering.md", "answer: Guests lie at B1 to B4"],
    "four_vendors.py": [
        f"{vendor}: Paris: 22 °C and 北京: 22 °C"
        for vendor in ("OpenAI, chat completions", "OpenAI, responses", "Anthropic", "Google")
    ],
    "mcp_server.py": ["tools: count_words", 'called: {"words":3,"characters":12}'],
}


@pytest.mark.parametrize("name", sorted(SAYS))
def test_an_example_with_an_extra_runs_offline_as_it_stands(name, tmp_path):
    said = ran(name, tmp_path)
    for text in SAYS[name]:
        assert text in said, said
