"""Run another library's examples with their imports changed, beside the original.

server    a scripted model on loopback that speaks OpenAI's two wires and keeps what it was sent
kept      conversations that it keeps, and decisions that it makes
fetching  source distributions, and what their tests need besides
own_tests  other libraries' own unit tests for tools, over this library's names
reasons    why those that fail do: the page that lists them
compare   what was sent and printed, without what no two runs share
langchain  the same for LangChain and LangGraph, with the programs of `chains`
chains     programs after their reference
__main__  fetch, migrate, run both, and print the table
"""
