from langchain.chat_models import init_chat_model


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


model = init_chat_model("openai:gpt-test")
for asked in (model, model.bind_tools([add])):
    whole = None
    for piece in asked.stream("2 and 3?"):
        whole = piece if whole is None else whole + piece
    print(whole.text, whole.tool_calls)
