"""Find what the installed distributions add to this one, and name the command that installs the rest.

The runtime never imports a higher distribution. Each of those lists what it adds as entry points:

``toolkeel.names``      names that public modules show, ``toolkeel.tools.Workspace``
``toolkeel.builtins``   builtin tools by name, as functions that make them
``toolkeel.executors``  executors by name, as functions that make them
``toolkeel.hooks``      single functions: ``cli``, ``html``, ``demo_options``
``toolkeel.results``    functions that show a result to a model, by its class: ``pandas.DataFrame``
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from toolkeel.errors import SetupError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal[
    "toolkeel.names",
    "toolkeel.builtins",
    "toolkeel.executors",
    "toolkeel.hooks",
    "toolkeel.results",
]

_WORKSPACE = (
    "Browser CodeInterpreterTool Computer ComputerTool Embedder Embeddings FileSearchTool "
    "ImageGenerationTool PostgresStore QdrantStore SafetyCheck Skills Source Store UserLocation "
    "VectorStore WebLimits WebSearchTool WebSearchToolFilters Workspace Brave Ddgs SearXNG "
    "RepositoryInstructions SearchBackend Tavily apply_patch fetch_tool index_folder local_shell open_store shell"
)
_SERVE = "Channel ChannelError Channels Item Snapshot app"
_RESULTS = (
    "PIL.Image matplotlib.Axes matplotlib.Figure pandas.DataFrame polars.DataFrame pyarrow.Table"
)
INSTALL: dict[str, str] = {
    **{f"toolkeel.tools.{name}": "toolkeel[workspace]" for name in _WORKSPACE.split()},
    "toolkeel.tools.Weather": "toolkeel[studio]",
    "toolkeel.observe.watch": "toolkeel[notebook]",
    "toolkeel.executors.Sandbox": "toolkeel[workspace]",
    "toolkeel.executors.PROTECTED": "toolkeel[workspace]",
    "toolkeel.executors.Ray": "toolkeel[ray]",
    **{f"toolkeel.serve.{name}": "toolkeel[serve]" for name in _SERVE.split()},
    "toolkeel.serve.agui": "toolkeel[agui]",
    "toolkeel.durable.Durable": "toolkeel[dbos]",
    "toolkeel.durable.DurableResult": "toolkeel[dbos]",
    "toolkeel.durable.DurableRun": "toolkeel[dbos]",
    "toolkeel.durable.Runs": "toolkeel[dbos]",
    "toolkeel.compat": "toolkeel[compat]",
    "cli": "toolkeel[cli]",
    "sandbox": "toolkeel[workspace]",
    "ray": "toolkeel[ray]",
    "weather": "toolkeel[studio]",
    **dict.fromkeys(("files", "workspace"), "toolkeel[workspace]"),
    **dict.fromkeys(("fetch", "web_search"), "toolkeel[web]"),
    "file_search": "toolkeel[search]",
    "image_generation": "toolkeel[pictures]",
    "code_interpreter": "toolkeel[code]",
    **dict.fromkeys(_RESULTS.split(), "toolkeel[workspace]"),
}
"""What to install for names of other distributions: of an object, an executor, a builtin, a hook, a result."""


@cache
def installed(group: Group) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, sorted; read once per process."""
    from importlib.metadata import entry_points  # late: costs as much as half of this package

    found = sorted(entry_points(group=group), key=lambda point: point.name)
    return {point.name: point for point in found}


def load_installed(group: Group, name: str) -> Any:
    """Import the object that an installed distribution registers under a name.

    Raises:
        SetupError: no installed distribution has it; the message names the command to install it.
    """
    point = installed(group).get(name)
    if point is None:
        raise SetupError(install_hint(name))
    return point.load()


def install_hint(name: str) -> str:
    """Return a sentence that something is not installed, with its install command if that is known.

    >>> install_hint("toolkeel.tools.Workspace")
    "toolkeel.tools.Workspace is not installed: pip install 'toolkeel[workspace]'"
    """
    wanted = INSTALL.get(name)
    return f"{name} is not installed" + (f": pip install '{wanted}'" if wanted else "")


def render_html(value: object) -> str | None:
    """Render a value as HTML for a notebook, or return None without a renderer."""
    point = installed("toolkeel.hooks").get("html")
    return None if point is None else point.load()(value)


def find_renderer(cls: type) -> Callable[[Any], Any] | None:
    """Return the function that shows values of a class to a model; None if none is installed.

    It is registered for the class or for a base of it, the nearest first, by the name of the top-level
    package and of the class. It takes a value and returns a `ToolOutput`. Each class is looked up once.

    Args:
        cls: The class of a result.

    >>> find_renderer(dict) is None
    True
    """
    if cls not in _renderers:
        points = map(installed("toolkeel.results").get, _renderer_names(cls))
        _renderers[cls] = next((point.load() for point in points if point), None)
    return _renderers[cls]


_renderers: WeakKeyDictionary[type, Callable[[Any], Any] | None] = WeakKeyDictionary()
"""The renderers that were found, by class; a class that is made for one call is not kept."""


def renderer_extra(cls: type) -> str:
    """Return what to install so that values of a class are shown; empty if nothing shows them."""
    return next((INSTALL[name] for name in _renderer_names(cls) if name in INSTALL), "")


def _renderer_names(cls: type) -> list[str]:
    """Return the names for renderers of a class and its bases: top-level package and class, ``pandas.DataFrame``.

    Classes of `_PLAIN_PACKAGES` are left out.
    """
    bases = ((each.__module__.partition(".")[0], each.__name__) for each in cls.__mro__)
    return [f"{package}.{name}" for package, name in bases if package not in _PLAIN_PACKAGES]


_PLAIN_PACKAGES = frozenset(
    {"builtins", "collections", "datetime", "decimal", "enum", "pydantic", "toolkeel"}
)
"""Packages whose classes have a JSON form or blocks of their own: no entry points are read for them."""
