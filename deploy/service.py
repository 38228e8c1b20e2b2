"""What the containers of compose.yaml run: a web service, and durable runs for its workers."""

import os

from tools import find_order

from toolkeel import Agent, tool
from toolkeel.serve import app
from toolkeel.sessions import Sessions
from toolkeel_studio.durable import Durable


@tool(approval=True)
def refund(number: int, amount: float) -> str:
    """Refund an order."""
    return f"refunded {amount} of order {number}"


agent = Agent(os.environ.get("TOOLKEEL_MODEL", "offline"), [find_order, refund], name="shop")
sessions = Sessions(os.environ["TOOLKEEL_DATABASE"])
service = app(
    agent,
    sessions=sessions,
    deciders="operator",  # who asks for a refund does not grant it: `toolkeel runs decide`
    token=os.environ["SERVICE_TOKEN"],
    allowed_hosts=os.environ.get("ALLOWED_HOSTS", "").split(),
)
durable = Durable(agent, sessions, os.environ["TOOLKEEL_DATABASE"])
