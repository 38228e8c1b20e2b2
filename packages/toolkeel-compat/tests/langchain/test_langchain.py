"""Every name of LangChain's that this package offers is there."""

from __future__ import annotations

from toolkeel_compat import langchain


def test_every_name_offered_is_there_and_explained() -> None:
    assert len(langchain.__all__) == len(set(langchain.__all__))
    for name in langchain.__all__:
        value = getattr(langchain, name)
        assert value.__doc__, name


def test_the_tool_exception_is_a_tool_error_of_the_core() -> None:
    from toolkeel import ToolError

    assert issubclass(langchain.ToolException, ToolError)
    assert str(langchain.ToolException()) == "Tool execution error"
