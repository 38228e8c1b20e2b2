"""The runtime by itself: calls in, results out, without a model or an event loop."""

from toolkeel import ToolCall, Toolset, tool


@tool
def convert(amount: float, rate: float = 1.1) -> str:
    """Convert euros to dollars.

    Args:
        amount: Euros.
        rate: Dollars for one euro.
    """
    return f"{amount * rate:.2f} USD"


calls = [
    ToolCall("1", "convert", '{"amount": 100}'),
    ToolCall("2", "convert", '{"amount": "50"}'),  # mended: a number in quotes
    ToolCall("3", "convert", '{"sum": 100}'),  # refused, with the reason
    ToolCall("4", "covert", '{"amount": 100}'),  # no such tool
]
for result in Toolset([convert]).run_sync(calls):
    print(f"{result.tool_call_id}: {result.kind or 'ok'}: {result.content}")
