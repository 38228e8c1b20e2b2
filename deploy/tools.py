"""The tools that the gateway offers to other programs, too: those that change nothing."""

from toolkeel import Effects, tool


@tool(effects=Effects(read_only=True))
def find_order(number: int) -> str:
    """Find an order of the shop."""
    return f"Order {number}: a lamp, 40 euros, delivered"
