"""Files that git, shells, editors, build tools, CI and agents load on their own.

`AUTO_LOADED` files take effect without a command (a hook, a shell's start file, an editor's tasks, an
agent's instructions): changing one needs approval, and existing ones stay read-only in a sandbox.
`BUILD_FILES` are run by the next ordinary build or test, so changing them is normal work unless the run
has read a stranger's text. `toolkeel._common.path_patterns` has the matching and the names of files with
secrets.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from secrets import token_hex

from toolkeel._common.data_folder import list_state
from toolkeel._common.path_patterns import SECRET, fold_part, matching_pattern, may_begin

_GIT = """
.git/hooks .git/config .git/config.worktree .git/commondir .git/gitdir .git/modules .git/worktrees
.git/info .git/objects/info/alternates .git/rebase-merge .git/rebase-apply .git/sequencer
.gitmodules .gitattributes .gitconfig .lfsconfig .hg/hgrc .jj/repo/config.toml .sl/config .svn .bzr
.husky lefthook*.y*ml .lefthook* .pre-commit-config.yaml .pre-commit-hooks.yaml .lintstagedrc*
.overcommit.yml .githooks
"""
_SHELL = """
.envrc .autoenv* .env.zsh mise.toml .mise* .tool-versions devbox.json flake.nix shell.nix
.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile
.zlogin .zlogout .zsh* .kshrc .cshrc .tcshrc .login .xonshrc .inputrc .tmux.conf .screenrc
.config/fish .config/nushell .config/powershell .config/starship* .oh-my-zsh .config/autostart
.config/systemd .config/environment.d library/launchagents .xprofile .xinitrc .xsession
.pam_environment .local/bin .local/share/applications .local/share/dbus-1 .ssh
"""
_EDITORS = """
.vscode *.code-workspace .cursor .windsurf .fleet .zed .positron .theia .idea *.iml .run .sublime-*
.project .settings .kakrc .helix .exrc .nvimrc .nvim.lua .vimrc .gvimrc .lvimrc .local.vimrc
.dir-locals.el .dir-locals-2.el .projectile .vim .pdbrc .gdbinit .lldbinit .ipython .irbrc .pryrc
.ghci .ocamlinit .rprofile .renviron .rdata .octaverc .sqliterc .psqlrc .devcontainer
.devcontainer.json devfile.yaml .gitpod.yml .idx vagrantfile *.desktop autorun.inf desktop.ini
*.lnk *.url *.scf *.library-ms .directory
"""
_AGENTS = """
agents.md agents.override.md claude.md claude.local.md gemini.md qwen.md warp.md conventions.md
.cursorrules .windsurfrules .clinerules* .roorules* .goosehints .rules skill.md .junie .trae
.augment .kiro .kilocode .amazonq .devin .openhands .claude .codex .agents .gemini .qwen .opencode
opencode.json* .crush* crush.json .continue .aider* .roo .roomodes .factory .amp .pi .goose
.plandex .tabnine .mcp.json mcp.json mcp_config.json .mcp claude_desktop_config.json .toolkeel
toolkeel.toml
"""
_CI = """
.github .gitlab-ci.yml .gitlab .circleci jenkinsfile* .travis.yml azure-pipelines*.yml
.azure-pipelines bitbucket-pipelines.yml .drone.* .woodpecker* .buildkite .teamcity .semaphore
.cirrus.* .gitea .forgejo .builds .tekton .harness cloudbuild.* buildspec*.yml appveyor.yml
.appveyor.yml codemagic.yaml bitrise.yml codefresh.yml wercker.yml action.y*ml renovate.json*
.renovaterc* dependabot.yml .mergify.yml .kodiak.toml codeowners netlify.toml vercel.json
render.yaml fly.toml procfile app.yaml wrangler.* serverless.* .platform* amplify.yml
"""
_PACKAGES = """
.npmrc .yarnrc .yarnrc.yml .yarn .pnp.* .pnpmfile.* pnpm-workspace.yaml bunfig.toml .bunfig .pypirc
pip.conf pip.ini uv.toml poetry.toml .condarc .cargo .gem .gemrc .bundle auth.json nuget.config .m2
settings.xml .sbt .ivy2 .gradle init.gradle* .mvn .hex gradlew* mvnw* gradle/wrapper sbt lein
tools/bazel .bazelrc .bazelversion .bazeliskrc .buckconfig .jvmopts .sbtopts global.json ansible.cfg
.terraformrc
"""
_PYTHON = """
sitecustomize.py usercustomize.py *.pth __pycache__ *.pyc pyvenv.cfg .venv venv .tox .nox
node_modules .direnv .pixi eslint.config.* prettier.config.* tailwind.config.* svelte.config.*
astro.config.* .eslintrc* .prettierrc*
"""
_BUILDS = """
makefile gnumakefile *.mk cmakelists.txt cmakepresets.json cmakeuserpresets.json meson.build build
build.bazel workspace workspace.bazel module.bazel build.rs build.zig *.gradle* pom.xml build.sbt
package.json deno.json* composer.json gemfile rakefile *.gemspec package.swift mix.exs rebar.config
dune dune-project justfile taskfile.y*ml magefile.go sconstruct wscript tup* *.csproj *.props
*.targets pyproject.toml setup.py setup.cfg conftest.py pytest.ini tox.ini noxfile.py tasks.py
dodo.py manage.py .coveragerc .pylintrc mypy.ini .flake8 .isort.cfg *.config.js *.config.cjs
*.config.mjs *.config.ts .babelrc* .stylelintrc* .mocharc* .postcssrc* .swcrc* .lighthouserc*
.clangd compile_commands.json .ccls .luarc.json .rubocop.yml .solargraph.yml rust-project.json
.pyrightconfig* pyrightconfig.json dockerfile* containerfile compose*.y*ml docker-compose* tiltfile
skaffold.yaml *.tf .terraform* .terragrunt* .ansible* pulumi.* helmfile* chart.yaml
kustomization.yaml .nvmrc .node-version .python-version .ruby-version rust-toolchain*
"""

AUTO_LOADED: tuple[str, ...] = tuple(
    " ".join((_GIT, _SHELL, _EDITORS, _AGENTS, _CI, _PACKAGES, _PYTHON)).split()
)
"""Files loaded without a command: patterns of one or more parts of a path."""
BUILD_FILES: tuple[str, ...] = tuple(_BUILDS.split())
"""Files that the next build or test runs."""
PROTECTED: tuple[str, ...] = tuple(dict.fromkeys((*AUTO_LOADED, *SECRET)))
"""Files and folders that change only with approval, at any depth."""

_PAGES = (
    frozenset(each for each in _AGENTS.split() if each.endswith(".md") and each != "skill.md")
    if sys.platform == "linux"
    else frozenset[str]()
)
"""Names of pages that no agent loads where names have one case."""
_ENVIRONMENTS = (".venv", "venv", "node_modules", ".tox", ".nox", "__pycache__", "*.pyc", "*.pth")
"""Need approval for edits, but stay writable in a sandbox, where programs keep caches in them."""
MAX_FILES_CHECKED = 200_000
"""Most entries of one folder that are searched for protected files."""
_ASIDE, _SHORT_NAME = ".set-aside", 200
"""End of the name of a file that was set aside; bytes of its old name where that is too long or taken."""
MAX_FILES_COMPARED = 5_000
"""Most files in one protected folder that are checked for changes."""
SCAN_SECONDS, MAX_SCAN_SECONDS = 0.2, 5.0
"""For how many seconds the scan for protected files goes; and at most, where an earlier one came to its end."""
_OF_INTEREST = (".git", *PROTECTED, *BUILD_FILES)
_GIT_REDIRECTS = (".git/commondir", ".git/gitdir", ".git/config.worktree", ".git/info/alternates")
_SKIPPED_FOLDERS = frozenset(
    {".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox"}
)


def find_protected_pattern(path: str) -> str:
    """Return the protected pattern that matches a path, or an empty string if none does.

    On Linux, where names have one case, a page such as ``docs/agents.md`` is not an agent's ``AGENTS.md``.

    Args:
        path: Relative, with slashes.

    >>> find_protected_pattern("lib/.git/hooks/pre-commit"), find_protected_pattern("src/hooks/a.py")
    ('.git/hooks', '')
    """
    if _PAGES and not _PAGES.isdisjoint(parts := path.split("/")):
        path = "/".join("page" if part in _PAGES else part for part in parts)
    last = fold_part(path.replace("\\", "/").rstrip("/.").rpartition("/")[2])
    if last == ".git":  # a file named .git redirects to another folder
        return matching_pattern(path, PROTECTED) or last
    return matching_pattern(path, PROTECTED) or (
        "a bare git repository" if _is_in_bare_repository(path) else ""
    )


def find_build_pattern(path: str) -> str:
    """Return the pattern by which the next build or test runs a path, or empty if none does.

    >>> find_build_pattern("app/Makefile")
    'makefile'
    """
    return matching_pattern(path, BUILD_FILES)


def _is_in_bare_repository(path: str) -> bool:
    """Return true if a path resembles the inside of a bare repository, whose config git loads."""
    parts = [fold_part(part) for part in path.split("/")]
    return len(parts) > 1 and parts[-2].endswith(".git") and parts[-2] != ".git"


def find_protected_place(root: Path, path: str) -> str:
    """Return why a path below a folder is protected, by what is there; empty if it is not.

    A bare git repository is one under any name, also one that this path would complete; so is the
    library's own state: consents, logins, used tickets, sessions.

    Args:
        root: The folder, without links.
        path: Relative to it, without links.
    """
    parts = Path(path).parts
    for depth, part in enumerate(parts):
        if fold_part(part) not in _IN_BARE_REPOSITORY:
            continue
        folder = root.joinpath(*parts[:depth])
        if folder.name != ".git" and _is_bare_repository(folder, part):
            return "a bare git repository"
    place = os.path.join(root, path)
    return "toolkeel's own state" if any(_is_below(place, own) for own in list_state()) else ""


_MAKE_BARE = ("head", "objects", "refs", "commondir")
_IN_BARE_REPOSITORY = frozenset(
    {"head", "config", "config.worktree", "commondir", "objects", "refs", "hooks"}
)


def _is_bare_repository(folder: Path, added: str = "") -> bool:
    """Return True if git takes a folder for a repository, once it has one more entry."""
    with suppress(OSError):
        return _is_bare((*islice(os.listdir(folder), MAX_FILES_CHECKED), added))
    return False


def _is_bare(names: Iterable[str]) -> bool:
    """Return True if git takes a folder with these entries for a repository, or for a link to one."""
    found = {fold_part(name) for name in names if may_begin(name, _MAKE_BARE)}
    return "head" in found and ({"objects", "refs"} <= found or "commondir" in found)


def _is_below(path: str, place: str) -> bool:
    """Return True if a path is a place, below it, or a file that SQLite makes beside it."""
    return path.startswith(f"{place.rstrip(os.sep)}{os.sep}") or path in (
        place,
        *(f"{place}{end}" for end in _BESIDE_DATABASES),
    )


def find_protected(root: Path) -> list[Path]:
    """List the existing protected files below a folder, in nested repositories too.

    The scan takes `SCAN_SECONDS` at most, the top folders first. Files found earlier are listed
    as long as they exist: a command cannot hide one by creating many files.
    """
    real = os.path.realpath(root)
    own = [f"{place}{end}" for place in list_state() for end in ("", *_BESIDE_DATABASES)]
    places = [
        *_scan(root, SCAN_SECONDS).protected,
        *(each for each in own if _is_below(each, real)),
    ]
    return [Path(path) for path in dict.fromkeys(places) if os.path.lexists(path)]


_BESIDE_DATABASES = ("-wal", "-shm", "-journal")


@dataclass(frozen=True)
class _Scan:
    """What one scan of a folder found, with what earlier scans found and what still exists.

    Args:
        protected: Protected files.
        builds: Files that the next build or test runs.
        searched: Folders of which every entry was read.
        unsearched: Folders of which not every entry was read.
    """

    protected: dict[str, None] = field(default_factory=dict)
    builds: dict[str, None] = field(default_factory=dict)
    searched: set[str] = field(default_factory=set)
    unsearched: set[str] = field(default_factory=set)


_known_files: dict[Path, _Scan] = {}


def _scan(root: Path, seconds: float) -> _Scan:
    known = _known_files.get(root, _Scan())
    found = _Scan(
        {path: None for path in known.protected if os.path.lexists(path)},
        {path: None for path in known.builds if os.path.lexists(path)},
    )
    end, top = time.monotonic() + seconds, str(root)
    waiting = deque(_scan_folder(top, top, found))
    while waiting and time.monotonic() < end:
        waiting += _scan_folder(waiting.popleft(), top, found)
    found.unsearched.update(waiting)
    _known_files[root] = found
    return found


def _scan_folder(folder: str, root: str, found: _Scan) -> list[str]:
    """Add one folder's entries to what a scan found, and return the folders below to scan."""
    try:
        with os.scandir(folder) as opened:
            entries = sorted(islice(opened, MAX_FILES_CHECKED + 1), key=lambda entry: entry.name)
    except OSError:
        found.unsearched.add(folder)
        return []
    is_complete = len(entries) <= MAX_FILES_CHECKED
    (found.searched if is_complete else found.unsearched).add(folder)
    if os.path.basename(folder) != ".git" and _is_bare(entry.name for entry in entries):
        if folder != root:
            found.protected[folder] = None
            return []
        found.protected.update((str(each), None) for each in _obeyed_by_git(Path(root)))
    return [entry.path for entry in entries[:MAX_FILES_CHECKED] if _is_searched(entry, found)]


def _is_searched(entry: os.DirEntry[str], found: _Scan) -> bool:
    """Add one entry to what a scan found. Return True for a folder to search, too."""
    is_folder = entry.is_dir(follow_symlinks=False)
    if may_begin(entry.name, _OF_INTEREST):
        places = _read_only_entries(Path(entry.path))
        found.protected.update((str(each), None) for each in places)
        if not is_folder and find_build_pattern(entry.name):
            found.builds[entry.path] = None
        is_folder = is_folder and not find_protected_pattern(entry.name)
    return is_folder and entry.name not in _SKIPPED_FOLDERS


def _read_only_entries(path: Path) -> Iterable[Path]:
    """Return what of one directory entry stays read-only in a sandbox."""
    name = fold_part(path.name)
    if path.is_symlink():  # reported when created; a link cannot be mounted
        return [path] if find_protected_pattern(path.name) else ()
    if name == ".git" and path.is_dir():
        return _obeyed_by_git(path)
    part = find_protected_pattern(path.name)
    found = [path] if part and part not in _ENVIRONMENTS else []
    several = (p for p in PROTECTED if "/" in p and p.partition("/")[0] == name and "*" not in p)
    return found or [path.parent / each for each in several if (path.parent / each).exists()]


def _obeyed_by_git(repository: Path) -> list[Path]:
    """Return what of a repository's own folder git obeys: settings, hooks, links to other folders."""
    inside = (pattern[5:] for pattern in AUTO_LOADED if pattern.startswith(".git/"))
    return [repository / each for each in inside if (repository / each).exists()]


@dataclass(frozen=True)
class Snapshot:
    """The files below a folder that take effect on their own, as they were at one moment.

    Args:
        protected: A number for each protected file that differs after any change in it.
        builds: The same for each file that the next build or test runs.
        searched: Folders of which every entry was read.
        unsearched: Folders of which not every entry was read.
    """

    protected: Mapping[str, int]
    builds: Mapping[str, int]
    searched: Set[str]
    unsearched: Set[str]

    def was_missing(self, path: str) -> bool:
        """Return true if a file that this snapshot does not have did not exist then."""
        for folder in map(str, Path(path).parents):
            if folder in self.searched or folder in self.unsearched:
                return folder in self.searched
        return True


def take_snapshot(root: Path, seconds: float | None = None) -> Snapshot:
    """Return the protected files and build files below a folder, as they are now.

    The numbers come from the inodes, times and sizes the file system records, which a command cannot reset.
    The library's own state is left out: this program itself changes it meanwhile.

    Args:
        root: The folder.
        seconds: For how long it is searched; `SCAN_SECONDS` if None.
    """
    found = _scan(root, SCAN_SECONDS if seconds is None else seconds)
    protected, builds = (
        {path: _fingerprint(Path(path)) for path in paths}
        for paths in (found.protected, found.builds)
    )
    return Snapshot(protected, builds, found.searched, found.unsearched)


def set_aside(paths: Iterable[str]) -> list[str]:
    """Rename files so that nothing loads them. Return the new paths; what cannot be renamed has none.

    A taken or too long name, or a folder without write permission, does not prevent it.
    """
    return [moved for path in paths if (moved := _rename_aside(path))]


def redirects_git(path: str) -> bool:
    """Return True for a file that redirects git to another folder, which people do not create by hand."""
    return any(path.endswith(f"/{each}") for each in _GIT_REDIRECTS)


def _rename_aside(path: str) -> str:
    """Rename a file and return its new path, or an empty string if that is not possible."""
    folder, name = os.path.split(path)
    short = os.fsdecode(os.fsencode(name)[:_SHORT_NAME])
    for new in (f"{name}{_ASIDE}", f"{short}-{token_hex(4)}{_ASIDE}"):
        place = os.path.join(folder, new)
        with suppress(OSError):
            if os.path.lexists(place):
                continue
            if not os.access(folder, os.W_OK | os.X_OK):
                os.chmod(folder, 0o700)
            os.rename(path, place)
            return place
    return ""


def _fingerprint(path: Path) -> int:
    inside = (
        islice(path.rglob("*"), MAX_FILES_COMPARED)
        if path.is_dir() and not path.is_symlink()
        else ()
    )
    states = []
    for each in (path, *inside):
        with suppress(OSError):
            found = each.lstat()
            states.append(
                (str(each), found.st_ino, found.st_size, found.st_mode, found.st_ctime_ns)
            )
    return hash(tuple(sorted(states)))
