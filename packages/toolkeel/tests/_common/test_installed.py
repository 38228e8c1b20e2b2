"""What installed distributions add is found by name; what is missing is named with its install line."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import tomllib
import weakref
from pathlib import Path

import pytest

from tests.shared import ROOT, optional
from toolkeel._common.installed import (
    INSTALL,
    find_renderer,
    install_hint,
    installed,
    load_installed,
    render_html,
    renderer_extra,
)
from toolkeel.errors import SetupError

DECLARED = [
    (group, name, value)
    for file in sorted(ROOT.glob("packages/*/pyproject.toml"))
    for group, points in tomllib.loads(file.read_text("utf-8"))["project"]
    .get("entry-points", {})
    .items()
    if group.startswith("toolkeel.")
    for name, value in points.items()
]


def test_every_declared_entry_point_leads_to_something() -> None:
    for _, name, value in DECLARED:
        module, _, attribute = value.partition(":")
        assert hasattr(optional(module), attribute), f"{name} = {value}"


def test_every_declared_name_has_an_install_line_for_whoever_lacks_it() -> None:
    missing = [
        name for group, name, _ in DECLARED if name not in INSTALL and group != "toolkeel.hooks"
    ]
    assert missing == []


def test_every_install_line_names_an_extra_that_exists() -> None:
    project = tomllib.loads((ROOT / "packages/toolkeel/pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"]
    for line in INSTALL.values():
        found = re.fullmatch(r"toolkeel\[([\w-]+)\]", line)
        assert found and found[1] in extras, line


def test_a_name_of_an_installed_distribution_is_loaded() -> None:
    optional("toolkeel_workspace")
    assert "toolkeel.tools.Workspace" in installed("toolkeel.names")
    assert load_installed("toolkeel.names", "toolkeel.tools.Workspace").__name__ == "Workspace"
    assert render_html("text") is None or isinstance(render_html("text"), str)


def test_what_is_not_installed_is_refused_with_the_command_that_installs_it() -> None:
    with pytest.raises(SetupError, match="nothing_like_it is not installed"):
        load_installed("toolkeel.executors", "nothing_like_it")
    assert install_hint("cli") == "cli is not installed: pip install 'toolkeel[cli]'"


ALONE = """
import importlib.metadata, importlib.util, sys
importlib.metadata.entry_points = lambda **_: ()
find = importlib.util.find_spec
sys.meta_path.insert(0, type("Hide", (), {"find_spec": staticmethod(
    lambda name, path=None, target=None: (_ for _ in ()).throw(ModuleNotFoundError(name=name))
    if name.startswith(("toolkeel_workspace", "toolkeel_studio", "toolkeel_compat")) else None)}))
"""


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("from toolkeel.tools import Workspace", "toolkeel[workspace]"),
        ("from toolkeel.executors import Sandbox", "toolkeel[workspace]"),
        ("from toolkeel.durable import Durable", "toolkeel[dbos]"),
        ("from toolkeel import tool; tool(executor='sandbox')(len)", "toolkeel[workspace]"),
        ("from toolkeel.tools import load_builtin; load_builtin('weather')", "toolkeel[studio]"),
        ("from toolkeel.__main__ import main; main()", "toolkeel[cli]"),
    ],
)
def test_the_runtime_alone_says_what_to_install(statement: str, line: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE + statement], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert f"pip install '{line}'" in done.stderr, done.stderr


def test_a_renderer_is_found_by_the_package_and_the_class_of_a_value_or_of_a_base() -> None:
    frame = type("DataFrame", (), {"__module__": "pandas.core.frame"})
    special = type("GeoFrame", (frame,), {"__module__": "geo"})
    assert renderer_extra(special) == renderer_extra(frame) == "toolkeel[workspace]"
    assert renderer_extra(dict) == renderer_extra(type("DataFrame", (), {})) == ""
    optional("toolkeel_workspace")
    assert find_renderer(special) is find_renderer(frame) is not None


def test_a_class_that_was_looked_up_is_not_kept() -> None:
    made = type("Row", (), {})
    assert find_renderer(made) is None
    reference = weakref.ref(made)
    del made
    gc.collect()
    assert reference() is None
