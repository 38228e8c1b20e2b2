"""Examples that need an extra run as they stand, too, and say what they promise."""

import shutil

import pytest

from tests.shared import cannot_run
from tests.test_examples import ran
from toolkeel_workspace.computer.browser import PROGRAMS
from toolkeel_workspace.sandbox.confine import detect_features

SAYS = {
    "document_search.py": ["found: entering.md", "answer: Guests lie at B1 to B4"],
    "four_vendors.py": [
        f"{vendor}: Paris: 22 °C and 北京: 22 °C"
        for vendor in ("OpenAI, chat completions", "OpenAI, responses", "Anthropic", "Google")
    ],
    "gateway.py": [
        "tools: log__note, tides__tide\ntides__tide: 12:12\n",
        "log__note: The limit of 2 calls",
        "audit: call, end, call, end, call, end, refused",
    ],
    "mcp_server.py": ["tools: count_words", 'called: {"words":3,"characters":12}'],
}


SLOW = {
    "browser_agent.py": [
        "'http://example.org/' is not opened",
        "the page says: Booked: berth B3 for the 海鹦, expected at 16:00.",
    ],
    "cluster.py": [
        "render: harbour.png\nrender: 灯塔.png\nsimulate: timeout\nsave: saved\nelsewhere: True",
    ],
    "data_analyst.py": [
        "In all {'茶': 252, 'coffee': 251}; from month 5 on tea sells better.",
        "sales.png",
    ],
}


@pytest.mark.parametrize("name", sorted(SAYS))
def test_an_example_with_an_extra_runs_offline_as_it_stands(name, tmp_path):
    said = ran(name, tmp_path)
    for text in SAYS[name]:
        assert text in said, said


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SLOW))
def test_an_example_that_starts_other_programs_runs_offline_too(name, tmp_path):
    if name == "browser_agent.py" and not any(map(shutil.which, PROGRAMS)):
        cannot_run("there is no Chromium: scripts/system_packages.py installs one")
    if (
        name == "data_analyst.py"
        and shutil.which("bwrap") is None
        and detect_features().backend == "none"
    ):
        cannot_run("there is no sandbox on this machine: scripts/system_packages.py installs one")
    said = ran(name, tmp_path)
    for text in SLOW[name]:
        assert text in said, said
