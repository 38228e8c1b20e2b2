"""A run that waits for a person: saved as text, decided, and gone on with elsewhere."""

from toolkeel import Agent, RunState, tool
from toolkeel.testing import Scripted, call


@tool(approval=lambda arguments: arguments["amount"] > 100)
def transfer(to: str, amount: float) -> str:
    """Transfer money.

    Args:
        to: Who receives it.
        amount: How much, in euros.
    """
    return f"{amount:.2f} EUR to {to}"


model = Scripted([call("transfer", {"to": "Ada", "amount": 500}), "Done."])
agent = Agent(model, tools=[transfer])

result = agent.run_sync("send 500 euros to Ada")
saved = result.state.to_json()  # keep it anywhere; another process can go on from here
print(result.reason, "-", result.pending[0].tool, dict(result.pending[0].arguments))

state = RunState.from_json(saved)
[ticket] = state.pending
result = agent.run_sync(state, decisions=[ticket.edit({"to": "Ada", "amount": 50})])
print(result.reason, "-", result.messages[-2].text)
