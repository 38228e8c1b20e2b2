"""Just the runtime, with the clients of four vendors: your loop, your client, n calls in, n results out.

Each loop is what you would write. So that it runs offline, the vendors' own clients are given a
transport that answers like their servers; leave it out, and they talk to them.
"""

import json

import anthropic as anthropic_sdk
import httpx2
import openai as openai_sdk
from google import genai

from toolkeel import Toolset, tool
from toolkeel.providers import anthropic, gemini, openai_chat, openai_responses


@tool
def get_weather(city: str) -> str:
    """Look up the weather.

    Args:
        city: Name of the city.
    """
    return f"{city}: 22 °C"


tools = Toolset([get_weather])
QUESTION = "What is the weather in Paris and in 北京?"


def chat(client: openai_sdk.OpenAI) -> str:
    messages: list = [{"role": "user", "content": QUESTION}]
    while True:
        reply = client.chat.completions.create(
            model="gpt-5", messages=messages, tools=openai_chat.encode_tools(tools)
        )
        if not (calls := openai_chat.decode_calls(reply)):
            return reply.choices[0].message.content
        messages += openai_chat.encode_turn(reply, tools.run_sync(calls))


def responses(client: openai_sdk.OpenAI) -> str:
    given: list = [{"role": "user", "content": QUESTION}]
    while True:
        reply = client.responses.create(
            model="gpt-5", input=given, tools=openai_responses.encode_tools(tools)
        )
        if not (calls := openai_responses.decode_calls(reply)):
            return reply.output_text
        given += openai_responses.encode_turn(reply, tools.run_sync(calls))


def claude(client: anthropic_sdk.Anthropic) -> str:
    messages: list = [{"role": "user", "content": QUESTION}]
    while True:
        reply = client.messages.create(
            model="claude-opus-5",
            max_tokens=1000,
            messages=messages,
            tools=anthropic.encode_tools(tools),
        )
        if not (calls := anthropic.decode_calls(reply)):
            return reply.content[0].text
        messages += anthropic.encode_turn(reply, tools.run_sync(calls))


def google(client: genai.Client) -> str:
    contents: list = [{"role": "user", "parts": [{"text": QUESTION}]}]
    while True:
        reply = client.models.generate_content(
            model="gemini-2.5-flash",
            contents=contents,
            config={"tools": gemini.encode_tools(tools)},
        )
        if not (calls := gemini.decode_calls(reply)):
            return reply.text
        contents += gemini.encode_turn(reply, tools.run_sync(calls))


# — what stands for the vendors' servers —

CITIES = ("Paris", "北京")


def served(request: httpx2.Request) -> httpx2.Response:
    """Two calls; then, once their results are there, an answer made of them."""
    asked = json.dumps(json.loads(request.content), ensure_ascii=False)
    said = " and ".join(f"{city}: 22 °C" for city in CITIES if f"{city}: 22 °C" in asked)
    path = request.url.path
    make = next(make for end, make in ANSWERS.items() if path.endswith(end))
    return httpx2.Response(200, json=make(said))


def as_chat(said: str) -> dict:
    calls = [
        {
            "id": city,
            "type": "function",
            "function": {"name": "get_weather", "arguments": json.dumps({"city": city})},
        }
        for city in CITIES
    ]
    message = {"role": "assistant", "content": said or None}
    choice = {"index": 0, "message": message if said else {**message, "tool_calls": calls}}
    end = "stop" if said else "tool_calls"
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "gpt-5",
        "choices": [{**choice, "finish_reason": end}],
    }


def as_response(said: str) -> dict:
    text = {"type": "output_text", "text": said, "annotations": []}
    spoken = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
    output = [{**spoken, "content": [text]}]
    if not said:
        output = [
            {
                "id": f"fc_{n}",
                "call_id": f"c{n}",
                "type": "function_call",
                "name": "get_weather",
                "arguments": json.dumps({"city": city}),
            }
            for n, city in enumerate(CITIES)
        ]
    return {
        "id": "r",
        "object": "response",
        "created_at": 0,
        "model": "gpt-5",
        "status": "completed",
        "output": output,
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
    }


def as_claude(said: str) -> dict:
    blocks = [
        {"type": "tool_use", "id": f"t{n}", "name": "get_weather", "input": {"city": city}}
        for n, city in enumerate(CITIES)
    ]
    return {
        "id": "1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [{"type": "text", "text": said}] if said else blocks,
        "stop_reason": "end_turn" if said else "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def as_google(said: str) -> dict:
    calls = [{"functionCall": {"name": "get_weather", "args": {"city": city}}} for city in CITIES]
    content = {"role": "model", "parts": [{"text": said}] if said else calls}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}


ANSWERS = {
    "/chat/completions": as_chat,
    "/responses": as_response,
    "/messages": as_claude,
    ":generateContent": as_google,
}

if __name__ == "__main__":
    http = httpx2.Client(transport=httpx2.MockTransport(served))
    openai = openai_sdk.OpenAI(api_key="none", http_client=http)
    print("OpenAI, chat completions:", chat(openai))
    print("OpenAI, responses:", responses(openai))
    print("Anthropic:", claude(anthropic_sdk.Anthropic(api_key="none", http_client=http)))
    options = genai.types.HttpOptions(httpx_client=http)
    print("Google:", google(genai.Client(api_key="none", http_options=options)))
