"""Classes are found among the imported modules, and nothing is imported for it."""

from __future__ import annotations

import sys

import pytest

from toolkeel._records.stored_types import find_class
from toolkeel.messages import UserMessage


def test_a_class_is_found_by_module_and_name_and_only_among_those_of_its_kind() -> None:
    assert find_class("toolkeel.messages:UserMessage", "dataclass") is UserMessage
    for path, kind in (
        ("toolkeel.messages:UserMessage", "model"),
        ("os:system", "dataclass"),
        ("toolkeel.messages:Nothing", "dataclass"),
        ("builtins:object", "dataclass"),
    ):
        with pytest.raises(ValueError, match="there is no"):
            find_class(path, kind)


def test_no_module_is_imported_to_find_a_class() -> None:
    assert "this" not in sys.modules
    with pytest.raises(ValueError, match="there is no"):
        find_class("this:Zen", "dataclass")
    assert "this" not in sys.modules
