"""Tool objects of other libraries become ours, and ours theirs.

run            what bridges share: our tools run for another library's call, what validators refuse
langchain      LangChain's tool objects become ours, and ours theirs: ``pip install 'toolkeel[langchain]'``
openai_agents  the OpenAI Agents SDK's tools become ours, and ours theirs
pydantic_ai    Pydantic AI's tools become ours, and ours theirs: ``pip install 'toolkeel[pydantic-ai]'``
"""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel_compat.bridges.langchain import from_langchain as from_langchain
    from toolkeel_compat.bridges.langchain import to_langchain as to_langchain
    from toolkeel_compat.bridges.openai_agents import from_openai_agents as from_openai_agents
    from toolkeel_compat.bridges.openai_agents import to_openai_agents as to_openai_agents
    from toolkeel_compat.bridges.pydantic_ai import from_pydantic_ai as from_pydantic_ai
    from toolkeel_compat.bridges.pydantic_ai import to_pydantic_ai as to_pydantic_ai
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel_compat.bridges.langchain": "from_langchain to_langchain",
            "toolkeel_compat.bridges.openai_agents": "from_openai_agents to_openai_agents",
            "toolkeel_compat.bridges.pydantic_ai": "from_pydantic_ai to_pydantic_ai",
        },
    )
