"""A data analyst: a table, real Python in the sandbox, numbers and a plot that come back.

Needs Linux with bubblewrap or Landlock, and ``pip install 'toolkeel[code]' matplotlib``.
"""

import tempfile
import textwrap
from pathlib import Path

from toolkeel import Agent, Image, ToolMessage
from toolkeel.testing import Scripted, call
from toolkeel_workspace import CodeInterpreterTool

SALES = "month,茶,coffee\n1,31,40\n2,28,44\n3,35,47\n4,42,45\n5,55,39\n6,61,36\n"
LOOK = """
    import csv
    rows = [{k: int(v) for k, v in row.items()} for row in csv.DictReader(open("sales.csv"))]
    {name: sum(row[name] for row in rows) for name in ("茶", "coffee")}
"""
PLOT = """
    import matplotlib.pyplot as plt
    months = [row["month"] for row in rows]
    plt.figure(figsize=(6, 3), layout="constrained")
    for name, label in (("茶", "tea"), ("coffee", "coffee")):
        plt.plot(months, [row[name] for row in rows], label=label, linewidth=2)
    plt.xlabel("month"), plt.ylabel("boxes sold"), plt.legend(frameon=False)
    plt.show()
    next(row["month"] for row in rows if row["茶"] > row["coffee"])
"""


def code(text: str):
    return call("code_interpreter", {"code": textwrap.dedent(text).strip()})


def answer(request):
    """What a model would say to the numbers; ``Agent("openai:gpt-5", ...)`` says it by itself."""
    totals, month = [m.text for m in request.messages if isinstance(m, ToolMessage)]
    return f"In all {totals.strip()}; from month {month.split()[0]} on tea sells better."


def main() -> None:
    interpreter = CodeInterpreterTool(python="sandbox", files={"sales.csv": SALES.encode()})
    agent = Agent(Scripted([code(LOOK), code(PLOT), answer]), [interpreter])
    result = agent.run_sync("How do tea and coffee sell?")
    plots = [
        block.data
        for message in result.messages
        if isinstance(message, ToolMessage) and not isinstance(message.content, str)
        for block in message.content
        if isinstance(block, Image)
    ]
    picture = Path(tempfile.mkdtemp(), "sales.png")
    picture.write_bytes(plots[0])
    print("answer:", result.output)
    print("plot:", picture)


if __name__ == "__main__":
    main()
