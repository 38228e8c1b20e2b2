"""Builtins by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import optional
from toolkeel import Toolset
from toolkeel.builtin.catalog import EXPLICIT_ONLY, builtin_names, load_builtin
from toolkeel.errors import MissingExtraError, SetupError

OPTIONS: dict[str, dict[str, str]] = {"file_search": {"stores": "docs"}}


def test_all_builtins_fit_in_one_toolset() -> None:
    made = Toolset(
        tool for name in builtin_names() if name not in EXPLICIT_ONLY for tool in load_builtin(name)
    )
    assert {"calculator", "clock"} <= {*made.names}


def test_every_builtin_tells_its_effects_and_describes_each_parameter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # no program imports its code from there
    for name in builtin_names():
        for made in load_builtin(name, **OPTIONS.get(name, {})):
            assert made.effects.read_only or name in EXPLICIT_ONLY
            properties = made.parameters["properties"]
            assert isinstance(properties, dict)
            assert all(schema.get("description") for schema in properties.values())


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(
        SetupError, match=r"no builtin called 'calculater'; did you mean calculator\?"
    ):
        load_builtin("calculater")
    optional("toolkeel_workspace")
    with pytest.raises(SetupError, match="there are calculator, weather, files, clock"):
        load_builtin("zzz")


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("calculator", "simpleeval", "builtin"),
        ("weather", "httpx2", "builtin"),
        ("fetch", "httpx2", "web"),
        ("fetch", "html_to_markdown", "web"),
    ],
)
def test_a_missing_package_is_told_with_the_line_that_installs_it(
    name: str, package: str, extra: str
) -> None:
    if name != "calculator":
        optional("toolkeel_workspace")
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from toolkeel.builtin.catalog import load_builtin\n"
        f"from toolkeel.errors import {MissingExtraError.__name__} as Missing\n"
        f"try: load_builtin({name!r})\nexcept Missing as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert f"pip install 'toolkeel[{extra}]'" in done.stdout


def test_the_catalog_imports_no_optional_package() -> None:
    program = (
        "import sys, toolkeel.builtin.catalog\n"
        "print([m for m in ('simpleeval', 'httpx2') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
