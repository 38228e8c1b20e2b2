from langchain.chat_models import init_chat_model
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


model = init_chat_model("openai:gpt-test", temperature=0).bind_tools([weather])
messages = [SystemMessage("Be brief."), HumanMessage("Weather in Oslo?")]
reply = model.invoke(messages)
for call in reply.tool_calls:
    print(call["name"], call["args"])
    messages += [reply, weather.invoke(call)]
print(model.invoke(messages).content)
