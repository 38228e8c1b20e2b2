from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)

messages = [
    SystemMessage("You are kind."), HumanMessage("one"), AIMessage("1"), HumanMessage("two"),
    AIMessage("2"), HumanMessage("three"),
]  # fmt: skip
for options in (
    {"max_tokens": 3}, {"max_tokens": 4, "include_system": True, "start_on": "human"},
    {"max_tokens": 3, "strategy": "first"}, {"max_tokens": 5, "end_on": ("human", "tool")},
):  # fmt: skip
    print([m.content for m in trim_messages(messages, token_counter=len, **options)])
for message in (messages[1], messages[2], ToolMessage("3", tool_call_id="1", name="add")):
    message.pretty_print()
print([message.type for message in messages[:3]])
