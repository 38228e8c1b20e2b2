"""A tool as a class, with settings of its own, and a method of an object as a tool."""

from toolkeel import BaseTool, ToolError, Toolset, tool


class Greet(BaseTool):
    name = "greet"
    description = "Greet somebody."
    greeting: str = "Hello"

    def _run(self, who: str) -> str:
        return f"{self.greeting}, {who}!"


class Ledger:
    def __init__(self) -> None:
        self.entries: dict[str, float] = {}

    @tool
    def book(self, account: str, amount: float) -> str:
        """Book an amount.

        Args:
            account: Name of the account.
            amount: What to add to it.
        """
        if not amount:
            raise ToolError("An amount of 0 cannot be booked; give another.")
        self.entries[account] = self.entries.get(account, 0) + amount
        return f"{account}: {self.entries[account]:g}"


ledger = Ledger()
tools = Toolset([Greet(greeting="你好"), ledger.book])
print(tools["greet"].invoke("Ada"))
print(tools["book"].invoke({"account": "cash", "amount": 12.5}))
print(tools["book"].invoke({"name": "book", "args": {"account": "cash", "amount": 0}, "id": "1"}))
