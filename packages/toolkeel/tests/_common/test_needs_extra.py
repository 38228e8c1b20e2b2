"""A missing optional package is told with the line that installs it; a broken one of ours is not."""

from __future__ import annotations

from importlib import import_module

import pytest

from toolkeel._common.needs_extra import needs_extra
from toolkeel.errors import MissingExtraError


def test_what_is_not_installed_is_told_with_its_install_line() -> None:
    told = r"^Tea needs an extra: pip install 'toolkeel\[tea\]'$"
    with pytest.raises(MissingExtraError, match=told) as caught, needs_extra("Tea", "tea"):
        import_module("nosuchpackage.inside")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_module_of_ours_that_is_gone_is_no_missing_extra() -> None:
    with pytest.raises(ModuleNotFoundError), needs_extra("Tea", "tea"):
        import_module("toolkeel.nowhere")


def test_what_is_there_is_imported_and_other_errors_pass() -> None:
    with needs_extra("Tea", "tea"):
        assert import_module("json")
    with pytest.raises(ZeroDivisionError), needs_extra("Tea", "tea"):
        _ = 1 / 0
