"""Files of a project that decide what a server's command starts, each with a digest of its content.

Consent to a command of a project covers these files: the program, scripts and modules that words of
the command or values of its variables name, and the manifests of the runners it uses (``npm start``
runs what ``package.json`` says, ``npx`` downloads from where ``.npmrc`` says). A name may be spelled
in many ways, so every word is tried as a path, a module and a package, from every folder it names. A
file too many costs a question; a file too few would start other code on an old consent.

What these files load in their turn is not covered, and the person is told so. Files outside the
project belong to the person: no commit changes them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from toolkeel._common.data_folder import find_home
from toolkeel.errors import SetupError
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.hosts import TABLES, workspace_of

MAX_LOOKUPS = 20_000
"""Names tried in folders for one command; one that needs more is refused."""
_LARGE = 64_000_000
_EDGE = 1_000_000
_SEPARATORS = re.compile(r"[\s=:;,'\"`()\[\]{}&|<>!$#*?\\]+")
_VERSION = re.compile(r"(?<=.)@[^/]*$")
_SUFFIXES = ("", *TABLES["launch"]["suffixes"])
_ENTRY_POINTS: list[str] = TABLES["launch"]["entry_points"]
_RUNNERS: list[Mapping[str, list[str]]] = TABLES["launch"]["runners"]
_KEYS: Mapping[str, list[str]] = TABLES["launch"]["keys"]


def resolve_program(config: ServerConfig) -> str | None:
    """Return the absolute path of the program that a command starts, or None.

    Relative names and relative folders of ``PATH`` count from the folder of the server, as they do
    for the process itself.
    """
    name, folder = config.command[0], os.path.abspath(config.cwd)
    if os.path.dirname(name):
        return shutil.which(os.path.abspath(os.path.join(folder, name)))
    path = config.env.get("PATH") or os.environ.get("PATH") or os.defpath
    places = [os.path.join(folder, place) for place in path.split(os.pathsep) if place]
    found = shutil.which(name, path=os.pathsep.join(places))
    return found and os.path.abspath(found)


def project_files(config: ServerConfig, program: str | None) -> dict[str, str]:
    """Return the digests of the project's files that decide what is started, by their paths.

    Args:
        config: A server that a file names.
        program: The path of its program, if that was found.

    Raises:
        SetupError: the command names more than can be looked up.
    """
    roots = _project_folders(config)
    if not roots:
        return {}
    files = _Files(config, roots)
    if program is not None:
        files.add(Path(program))
    files.search([*config.command, *config.env.values(), *config.tls.values()])
    files.search(list(files.texts))  # what a manifest says is a command, too
    return files.digests()


def _project_folders(config: ServerConfig) -> tuple[Path, ...]:
    """Return the project's folders, around the server's file and its ``cwd``, up to a ``.git``; none that contains a home."""
    file = Path(config.origin)
    folders = [workspace_of(file), Path(config.cwd) if config.cwd else None]
    home = (find_home() or Path("/")).resolve()
    found = []
    for folder in folders:
        if folder is None or home.is_relative_to(folder.resolve()):
            continue
        folder = folder.resolve()
        above = [each for each in (folder, *folder.parents) if not home.is_relative_to(each)]
        found.append(next((each for each in above if os.path.exists(each / ".git")), folder))
    return tuple(dict.fromkeys(found))


class _Files:
    """Search for the files that a command names.

    Attributes:
        texts: Commands found in manifests.
    """

    def __init__(self, config: ServerConfig, roots: tuple[Path, ...]) -> None:
        self._roots = roots
        self._folder = Path(config.cwd) if config.cwd else Path(config.origin).parent
        self._found: dict[str, str] = {}
        self._folders: dict[Path, None] = {self._folder: None}
        self._lookups = 0
        self._name = config.name
        self.texts: dict[str, None] = {}

    def search(self, texts: list[str]) -> None:
        """Add every file that one of the texts names, in each folder that they name.

        Raises SetupError for more than `MAX_LOOKUPS` lookups.
        """
        pieces = dict.fromkeys(piece for text in texts for piece in _pieces(text))
        for piece in pieces:
            folder = self._folder / piece
            if self._is_inside(folder) and os.path.isdir(folder):
                self._folders[Path(os.path.normpath(folder))] = None
        for folder in list(self._folders):
            self._lookups += len(pieces)
            if self._lookups > MAX_LOOKUPS:
                raise SetupError(
                    f"the command of the server {self._name!r} names too many files; "
                    "put it into a script"
                )
            for piece in pieces:
                for path in _spellings(folder, piece):
                    self.add(path)
        self._add_manifests(pieces)

    def _add_manifests(self, pieces: Iterable[str]) -> None:
        """Add manifests and entry points, which a command executes without naming them.

        Manifests are those of the runners that it uses, from each folder upwards; entry points such as
        ``__main__.py`` are those of the folders that it names.
        """
        manifests = _manifest_names(pieces)
        for folder in dict.fromkeys(up for each in self._folders for up in self._upwards(each)):
            for name in manifests:
                self.add(folder / name)
        for folder in self._folders.keys() - {self._folder}:
            for name in _ENTRY_POINTS:
                self.add(folder / name)

    def _upwards(self, folder: Path) -> Iterator[Path]:
        """Yield a folder and those above it in the project, where runners look, too."""
        for each in (folder, *folder.parents):
            if any(each.is_relative_to(root) for root in self._roots):
                yield each

    def _is_inside(self, path: Path) -> bool:
        """Return True if a path is in the project, by its spelling or by where its links lead."""
        try:
            places = Path(os.path.normpath(path)), path.resolve()
        except (OSError, ValueError, RuntimeError):  # no path: a NUL, a circle of links
            return False
        return any(place.is_relative_to(root) for place in places for root in self._roots)

    def add(self, path: Path) -> None:
        """Add a file with its digest; of a manifest, that of the keys in `_KEYS`, whose texts go to `texts`.

        Does nothing if it is outside the project or no file.
        """
        key = os.path.normpath(path)
        if key in self._found or not os.path.isfile(path) or not self._is_inside(path):
            return
        part = _manifest(path)
        self._found[key] = _digest(path) if part is None else _hash(json.dumps(part))
        for text in _texts(part):
            self.texts[text] = None

    def digests(self) -> dict[str, str]:
        """Return the digests by path, relative to the project's folder, in order."""
        root = self._roots[0]
        return {os.path.relpath(path, root): self._found[path] for path in sorted(self._found)}


def _manifest_names(pieces: Iterable[str]) -> list[str]:
    """Return the manifests of the runners that a command uses, and of installed packages, as paths from a folder."""
    names = {re.sub(r"[\d.]+$", "", Path(piece).stem.lower()) for piece in pieces}
    groups = [each for each in _RUNNERS if names & {*each["commands"]}]
    packages = [_VERSION.sub("", piece) for piece in pieces] if groups else []
    places = ("node_modules/{}/package.json", "node_modules/.bin/{}")
    installed = [place.format(name) for name in packages for place in places]
    return [name for each in groups for name in each["files"]] + installed


def _pieces(text: str) -> Iterator[str]:
    """Yield each part of a word that may be a path: of options, lists and shell lines; some of them twice."""
    for piece in (text, text.partition("=")[2], *_SEPARATORS.split(text)):
        yield piece
        yield piece.lstrip("@/")
        yield re.sub(r"^-\w", "", piece)
        if "/" in piece:  # `$PWD/run.sh`, `$(dirname "$0")/run.sh`
            yield piece.partition("/")[2]


def _spellings(folder: Path, piece: str) -> Iterator[Path]:
    """Yield the paths, existing or not, that a name may mean: as a path, with a suffix that it lacks, as a module."""
    if not piece or "\0" in piece or len(piece) > 4096:
        return
    for suffix in _SUFFIXES:
        yield folder / (os.path.expanduser(piece) + suffix)
    if re.fullmatch(r"[\w.]+", piece):
        module = piece.replace(".", "/")
        for end in (".py", "/__init__.py", "/__main__.py"):
            yield folder / (module + end)


def _manifest(path: Path) -> dict[str, Any] | None:
    """Return the keys of a manifest that decide what is started; None: any change of the file does."""
    keys = _KEYS.get(path.name)
    if keys is None or "node_modules" in path.parts:
        return None
    try:
        text = path.read_text("utf-8-sig")
        data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        return {key: _at(data, key) for key in keys}
    except (OSError, ValueError, RecursionError, AttributeError):
        return None


def _at(data: dict[str, Any], key: str) -> Any:
    """Return the value at a dotted key; an empty dict for a missing or empty value."""
    for name in key.split("."):
        data = data.get(name) or {}
    return data


def _texts(part: object) -> Iterator[str]:
    """Yield all texts in a part of a manifest."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, Mapping):
        for each in part.values():
            yield from _texts(each)
    elif isinstance(part, list):
        for each in part:
            yield from _texts(each)


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file; above `_LARGE` bytes, of its size, time and both ends; of an unreadable one, why."""
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if found.st_size <= _LARGE:
                return hashlib.file_digest(file, "sha256").hexdigest()
            head = file.read(_EDGE)
            file.seek(-_EDGE, os.SEEK_END)
            ends = hashlib.sha256(head + file.read()).hexdigest()
            return _hash(f"{found.st_size} {found.st_mtime_ns} {ends}")
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _hash(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
