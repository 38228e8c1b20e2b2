"""A name that is not there answers for itself."""

from __future__ import annotations

from importlib import import_module

import pytest

from toolkeel_compat.missing import make_module_getattr


def test_a_missing_name_says_what_to_write_at_its_import() -> None:
    with pytest.raises(ImportError, match="the Agents SDK's tool_namespace is not here: toolset"):
        from toolkeel_compat.openai_agents import tool_namespace  # noqa: F401


def test_a_name_nobody_knows_is_no_attribute_as_of_any_module() -> None:
    import toolkeel_compat.openai_agents as names

    assert not hasattr(names, "no_such_name_at_all")
    assert not hasattr(names, "__wrapped__")


def test_the_first_answer_that_fits_the_whole_name_counts() -> None:
    ask = make_module_getattr("x", {"Ab": "first", "A.*": "second"})
    for name, told in (("Ab", "first"), ("Abc", "second")):
        with pytest.raises(AttributeError, match=told):
            ask(name)


@pytest.mark.parametrize("module", ["openai_agents", "langchain"])
def test_a_module_that_knows_what_replaces_a_name_still_does_not_have_it(module: str) -> None:
    names = import_module(f"toolkeel_compat.{module}")
    word = {"openai_agents": "tool_namespace", "langchain": "BaseToolkit"}[module]
    assert not hasattr(names, word)
    assert getattr(names, word, 5) == 5
    with pytest.raises(AttributeError, match=f"{word} is not here: "):
        getattr(names, word)
