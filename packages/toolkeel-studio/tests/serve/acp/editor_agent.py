"""An agent that an editor starts; its model plays the lines below."""

import sys

from tests.serve.talking import PAY, calls, pay, text
from toolkeel import Agent, tool
from toolkeel.testing import Scripted


@tool
def look(what: str) -> str:
    """Look at something, and print."""
    print("CANARY of a print")
    sys.stdout.flush()
    return "x" * 5_000_000 if what == "much" else f"saw {what}"


TWO = calls(
    ("c1", "pay", '{"amount": 5}'), ("c2", "pay", '{"amount": 7}'), ("c3", "look", '{"what": "y"}')
)
agent = Agent(
    Scripted(
        [
            TWO,
            text("One is ", "paid."),
            calls(("c4", "pay", '{"amount": 9}')),
            calls(("c5", "look", '{"what": "much"}')),
            text("Much."),
            RuntimeError("key sk-CANARY at http://10.0.0.1"),
            PAY,
        ]
    ),
    [pay, look],
)
