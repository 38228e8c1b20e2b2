"""Names of LangChain that are not here answer with what to write instead."""

from __future__ import annotations

import pytest

from toolkeel_compat import langchain

NAMES = [
    "StateGraph", "AgentExecutor", "ShellToolMiddleware", "SqliteSaver",
    "RunnableLambda", "AzureChatOpenAI", "ChatPromptTemplate",
    "StrOutputParser", "create_retriever_tool",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_not_here_says_what_to_write(name: str) -> None:
    with pytest.raises(AttributeError, match=f"LangChain's {name} is not here"):
        getattr(langchain, name)
    with pytest.raises(ImportError, match=f"LangChain's {name} is not here"):
        exec(f"from toolkeel_compat.langchain import {name}")
    assert not hasattr(langchain, "nobody_knows_this")
