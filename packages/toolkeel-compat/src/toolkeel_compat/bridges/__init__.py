"""Convert tool objects of other libraries to ours, and ours to theirs.

run            shared by the bridges: run our tools for another library, explain validation errors
langchain      LangChain's tools: ``pip install 'toolkeel[langchain]'``
openai_agents  the OpenAI Agents SDK's tools: ``pip install 'toolkeel[openai-agents]'``
pydantic_ai_tools    Pydantic AI's tools: ``pip install 'toolkeel[pydantic-ai]'``
"""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel_compat.bridges.langchain import from_langchain as from_langchain
    from toolkeel_compat.bridges.langchain import to_langchain as to_langchain
    from toolkeel_compat.bridges.openai_agents import from_openai_agents as from_openai_agents
    from toolkeel_compat.bridges.openai_agents import to_openai_agents as to_openai_agents
    from toolkeel_compat.bridges.pydantic_ai_tools import from_pydantic_ai as from_pydantic_ai
    from toolkeel_compat.bridges.pydantic_ai_tools import to_pydantic_ai as to_pydantic_ai
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel_compat.bridges.langchain": "from_langchain to_langchain",
            "toolkeel_compat.bridges.openai_agents": "from_openai_agents to_openai_agents",
            "toolkeel_compat.bridges.pydantic_ai_tools": "from_pydantic_ai to_pydantic_ai",
        },
    )
