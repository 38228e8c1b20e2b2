"""Files that others obey: what git, shells, editors, build tools, CI and agents run by themselves.

`OBEYED` are followed without anybody asking (a hook, a shell's start file, an editor's tasks, an
agent's orders): changing one asks a person first, and in a sandbox those that are there stay
read-only. `BUILD` are run by the next ordinary build or test, so changing them is normal work,
unless strangers' text was read. How names are matched, and which files hold secrets, stands in
`toolkeel._common.path_patterns`.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from toolkeel._common.path_patterns import SECRET, folded, part_under

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

OBEYED: tuple[str, ...] = tuple(
    " ".join((_GIT, _SHELL, _EDITORS, _AGENTS, _CI, _PACKAGES, _PYTHON)).split()
)
"""What is followed without anybody asking: patterns of one or more parts of a path."""
BUILD: tuple[str, ...] = tuple(_BUILDS.split())
"""What the next build or test runs."""
PROTECTED: tuple[str, ...] = tuple(dict.fromkeys((*OBEYED, *SECRET)))
"""What stays as it is unless a person says otherwise, at any depth: each with all below it."""

_ENVIRONMENTS = (".venv", "venv", "node_modules", ".tox", ".nox", "__pycache__", "*.pyc", "*.pth")
"""Asked about when edited, and not mounted: programs in a sandbox keep their caches there."""
MAX_LOOKED_AT = 5_000
"""Most files in one protected folder that are looked at for changes."""
DEPTH, PATIENCE = 4, 0.2
"""How deep below a root protected files are looked for, and for how many seconds."""
_PLANTED = (".git/commondir", ".git/gitdir", ".git/config.worktree", ".git/info/alternates")
_PASSED_BY = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox"})


def protected_part(path: str) -> str:
    """The protected pattern that a path falls under; empty if none does.

    Args:
        path: Relative, with slashes.

    >>> protected_part("lib/.git/hooks/pre-commit"), protected_part("src/hooks/a.py")
    ('.git/hooks', '')
    """
    last = folded(path.replace("\\", "/").rstrip("/.").rpartition("/")[2])
    if last == ".git":  # a file in the place of a folder points elsewhere
        return part_under(path, PROTECTED) or last
    return part_under(path, PROTECTED) or ("a bare git repository" if _in_bare(path) else "")


def build_part(path: str) -> str:
    """The pattern by which the next build or test runs a path; empty if none does.

    >>> build_part("app/Makefile")
    'makefile'
    """
    return part_under(path, BUILD)


def _in_bare(path: str) -> bool:
    """Whether a path looks like the inside of a bare repository: git obeys its config."""
    parts = [folded(part) for part in path.split("/")]
    return len(parts) > 1 and parts[-2].endswith(".git") and parts[-2] != ".git"


def protected_below(root: Path) -> list[Path]:
    """What is there of the protected files below a folder, those nested in it included.

    Looked for to `DEPTH` and for `PATIENCE` seconds; the folder's own come first. What was found
    before is told as long as it is there: however many files a command makes, it hides none.
    """
    known = _found.setdefault(root, {})
    known.update(dict.fromkeys(_below(root)))
    return [path for path in list(known) if os.path.lexists(path)]


_found: dict[Path, dict[Path, None]] = {}


def _below(root: Path) -> Iterator[Path]:
    end = time.monotonic() + PATIENCE
    waiting = [(root, 0)]
    while waiting and (time.monotonic() < end or waiting[0][1] == 0):
        folder, depth = waiting.pop(0)
        try:
            names = sorted(islice(folder.iterdir(), MAX_LOOKED_AT))
        except OSError:
            continue
        bare = {"HEAD", "objects", "refs"} <= {path.name for path in names}
        if bare and folder.name != ".git" and folder != root:
            yield folder
            continue
        for path in names:
            yield from _read_only_part(path)
            deeper = depth < DEPTH and path.name not in _PASSED_BY and not path.is_symlink()
            if deeper and path.is_dir() and not protected_part(path.name):
                waiting.append((path, depth + 1))


def _read_only_part(path: Path) -> Iterable[Path]:
    """What of one name in a folder stays read-only in a sandbox."""
    name = folded(path.name)
    if path.is_symlink():  # told when it is made; it cannot be mounted
        return [path] if protected_part(path.name) else ()
    if name == ".git" and path.is_dir():
        inside = (pattern.partition("/")[2] for pattern in OBEYED if pattern.startswith(".git/"))
        return [path / each for each in inside if (path / each).exists()]
    part = protected_part(path.name)
    found = [path] if part and part not in _ENVIRONMENTS else []
    several = (p for p in PROTECTED if "/" in p and p.partition("/")[0] == name and "*" not in p)
    return found or [path.parent / each for each in several if (path.parent / each).exists()]


def shared_environments(root: Path) -> Iterator[Path]:
    """Environments at the top of a folder whose files have a second name elsewhere.

    Installers link packages from a cache of the whole machine: to write one is to write them all.
    """
    for name in (".venv", "venv", "node_modules"):
        files = (path for path in islice((root / name).rglob("*"), MAX_LOOKED_AT))
        if any(_has_another_name(path) for path in files):
            yield root / name


def _has_another_name(path: Path) -> bool:
    with suppress(OSError):
        found = path.lstat()
        return stat.S_ISREG(found.st_mode) and found.st_nlink > 1
    return False


def protected_state(root: Path) -> dict[str, int]:
    """The same, each with a number that is another one once anything in it was changed.

    By the times and sizes that the file system keeps, which a command cannot set back.
    """
    return {str(path): _state(path) for path in protected_below(root)}


def set_aside(made: Iterable[str]) -> list[str]:
    """Take from git what a command has made for it to obey; the new names.

    A file that is not there cannot be kept from being made by a mount, and nobody makes these by
    hand: they point git to other settings.

    Args:
        made: Protected paths that were not there before.
    """
    moved = []
    for path in made:
        name = next((each for each in _PLANTED if path.endswith(f"/{each}")), "")
        with suppress(OSError):
            if name:
                os.rename(path, f"{path}.set-aside")
                moved.append(f"{path}.set-aside")
    return moved


def _state(path: Path) -> int:
    inside = (
        islice(path.rglob("*"), MAX_LOOKED_AT) if path.is_dir() and not path.is_symlink() else ()
    )
    seen = []
    for each in (path, *inside):
        with suppress(OSError):
            found = each.lstat()
            seen.append((str(each), found.st_ino, found.st_size, found.st_mode, found.st_ctime_ns))
    return hash(tuple(sorted(seen)))
