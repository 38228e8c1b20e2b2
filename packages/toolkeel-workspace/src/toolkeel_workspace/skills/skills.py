"""`Skills`: the tools by which a model loads skills, reads their files and runs their scripts.

::

    Agent("openai:gpt-5", tools=[Skills("skills", workspace=workspace), *workspace.tools])

The model sees names and descriptions; a body is loaded when it asks. Unless `trust` is set, all of that
is a stranger's text, and the run counts as having read it. A skill widens nothing: its files are read
beneath its folder only, and a script is a command of the workspace, under the sandbox, rules and
approval of ``bash``.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
from pathlib import Path
from typing import Any

from toolkeel._common.checked_arguments import checked
from toolkeel._records.result_pins import PINNED, has_pinned
from toolkeel._records.taint_sources import OURS
from toolkeel.call.steps.label_sources import TRUSTED, WORDS
from toolkeel.call.toolset import Toolset
from toolkeel.content import Text
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool, Tool, ToolOptions
from toolkeel.effects import Effects, reads
from toolkeel.errors import ToolError
from toolkeel.messages import ToolCall, ToolOutput
from toolkeel_workspace.files.file_tools import Files
from toolkeel_workspace.files.line_window import MAX_LINES
from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.files.workspace import Workspace
from toolkeel_workspace.skills.folder import Skill, SkillNote, read_skills

log = logging.getLogger("toolkeel")

MAX_LISTED = 100
"""Files of a skill that are listed when it is loaded."""
_INTERPRETERS = {".py": "python3", ".sh": "bash", ".js": "node", ".rb": "ruby", ".pl": "perl"}
_LOADED = (
    "It is loaded already; its text is in an earlier result. If you no longer see it, load it with "
    "again=true."
)
_COMMAND = re.compile(r"\s*/([\w.-]+)(?=\s|\Z)")
_NAME = {"type": "string", "description": "Name of the skill."}
_PATH = {"type": "string", "description": 'Path below the skill, such as "scripts/run.py".'}


@checked
class Skills:
    """A source of tools for folders of Agent Skills.

    Args:
        folders: Skills, or folders that contain them.
        trust: True if their texts are the operator's own; else they are a stranger's.
        workspace: Where scripts run. Without one, or without its sandbox, none run.

    Attributes:
        notes: What was wrong with skills when they were last read.

    Raises:
        SetupError: a folder does not exist.
        MissingExtraError: PyYAML is not installed.
    """

    def __init__(
        self,
        *folders: str | os.PathLike[str],
        trust: bool = False,
        workspace: Workspace | None = None,
    ) -> None:
        self._folders = folders
        self._trust = trust
        self._workspace = workspace
        self.notes: tuple[SkillNote, ...] = ()
        self.read()

    def read(self) -> dict[str, Skill]:
        """Read the folders again, and return the usable skills by name. Log new notes."""
        skills, notes = read_skills(self._folders, follow_links=self._trust)
        for note in notes:
            if note not in self.notes:
                log.warning("a skill has a problem: %s", note)
        self.notes = tuple(notes)
        return skills

    def in_folder(self, folder: Path) -> Skills:
        """Return the same skills, whose scripts run in another folder."""
        if self._workspace is None:
            return self
        moved = self._workspace.in_folder(folder)
        return Skills(*self._folders, trust=self._trust, workspace=moved)

    def get_tools(self) -> list[AnyTool]:
        """Return the tools for the skills that are there now; none without a usable skill."""
        skills = self.read()
        if not skills:
            return []
        tools = [self._make_load_tool(skills), self._make_read_tool(skills)]
        if self._workspace is not None and self._workspace.sandbox is not None:
            tools.append(self._make_script_tool(skills, self._workspace))
        return tools

    def expand(self, prompt: str) -> str | tuple[Text, ...]:
        """Return a person's prompt with the text of the skill that it begins with, as ``/name``.

        A prompt that names no skill stays as it is.

        >>> Skills().expand("/etc/hosts is a file")
        '/etc/hosts is a file'
        """
        named = _COMMAND.match(prompt)
        skill = self.read().get(named[1]) if named else None
        if skill is None:
            return prompt
        extra = {} if self._trust else {TRUSTED: False}
        return Text(prompt), Text(self._show(skill), extra=extra)

    def _make_metadata(self) -> dict[str, object]:
        if self._trust:
            return {OURS: True}
        return {WORDS: lambda: "skills"}

    def _make_load_tool(self, skills: dict[str, Skill]) -> AnyTool:
        lines = [f"- {name}: {skill.text.description}" for name, skill in skills.items()]
        described = (
            "Load a skill: instructions for a kind of task. Load it before you begin such a task. "
            "Skills:\n" + "\n".join(lines)
        )
        again = {"type": "boolean", "description": "Load it although it was loaded before."}
        schema = {
            "type": "object",
            "properties": {"name": {**_NAME, "enum": list(skills)}, "again": again},
            "required": ["name"],
        }

        def load(context: ToolContext, arguments: dict[str, Any]) -> ToolOutput:
            name = arguments["name"]
            key = f"skill {name}"
            if not arguments.get("again") and has_pinned(context.messages, key):
                return ToolOutput(_LOADED)
            return ToolOutput(self._show(skills[name]), details={"skill": name, PINNED: key})

        effects = reads(stranger=not self._trust)
        return Tool.from_schema(
            "load_skill",
            described,
            schema,
            load,
            effects=effects,
            max_output=None,
            metadata=self._make_metadata(),
        )

    def _show(self, skill: Skill) -> str:
        """Return the text of a skill and the names of its files."""
        files = sorted(
            path.relative_to(skill.folder).as_posix()
            for path in skill.folder.rglob("*")
            if path.is_file() and path.name != "SKILL.md"
        )
        parts = [skill.text.body or "[The skill has no instructions.]"]
        if not self._trust:
            whose = (
                f"[The skill {skill.text.name!r}. Its text is from a file, not from the person.]"
            )
            parts.insert(0, whose)
        if files:
            more = f" and {len(files) - MAX_LISTED} more" if len(files) > MAX_LISTED else ""
            parts.append(f"[Files of the skill: {', '.join(files[:MAX_LISTED])}{more}]")
        return "\n\n".join(parts)

    def _make_read_tool(self, skills: dict[str, Skill]) -> AnyTool:
        number = {"type": "integer"}
        schema = {
            "type": "object",
            "properties": {
                "name": _NAME,
                "path": _PATH,
                "offset": {**number, "description": "First line to show, counted from 1."},
                "limit": {**number, "description": "Most lines to show."},
            },
            "required": ["name", "path"],
        }

        def read(context: ToolContext, arguments: dict[str, Any]) -> ToolOutput:
            files = Files(_find(skills, arguments["name"]).folder)
            offset, limit = arguments.get("offset", 1), arguments.get("limit", MAX_LINES)
            return files.read(arguments["path"], offset, limit)

        return Tool.from_schema(
            "read_skill_file",
            "Read a file of a skill.",
            schema,
            read,
            effects=reads(stranger=not self._trust),
            max_output=None,
            metadata=self._make_metadata(),
        )

    def _make_script_tool(self, skills: dict[str, Skill], workspace: Workspace) -> AnyTool:
        texts = {"type": "array", "items": {"type": "string"}, "description": "Its arguments."}
        schema = {
            "type": "object",
            "properties": {"name": _NAME, "path": _PATH, "arguments": texts},
            "required": ["name", "path"],
        }
        bash = workspace.with_readable(*(skill.folder for skill in skills.values()))
        tools = Toolset(tool for tool in bash.tools if tool.name == "bash")

        async def run(context: ToolContext, arguments: dict[str, Any]) -> ToolOutput:
            skill = _find(skills, arguments["name"])
            words = [*_make_argv(skill, arguments["path"]), *arguments.get("arguments", ())]
            call = ToolCall(f"{context.call.id}-bash", "bash", {"command": shlex.join(words)})
            [message] = await tools.run([call], context.run)
            if message.failed:
                raise ToolError(message.text, message.details)
            return ToolOutput(message.content, details=message.details)

        made = tools["bash"]
        options: ToolOptions = {} if self._trust else {"approval": True}
        options["timeout"], options["max_output"] = made.timeout, None
        options["effects"] = Effects(
            open_world=made.effects.open_world,
            stranger=made.effects.stranger or not self._trust,
        )
        return Tool.from_schema(
            "run_skill_script",
            f"Run a script of a skill, in the root folder.\n\n{made.description}",
            schema,
            run,
            **options,
        )


def _find(skills: dict[str, Skill], name: str) -> Skill:
    """Return a skill by name.

    Raises:
        ToolError: there is none.
    """
    if name not in skills:
        raise ToolError(f"There is no skill {name!r}. Skills: {', '.join(skills)}.")
    return skills[name]


def _make_argv(skill: Skill, path: str) -> list[str]:
    """Return the words that run a script of a skill.

    Raises:
        ToolError: it is no file beneath the skill's folder, or nothing runs it.
    """
    root = Root(skill.folder)
    os.close(root.open_file(path))
    true = Path(root.resolve(path))
    if not true.is_relative_to(skill.folder):
        raise ToolError(f"{path!r} leads out of the skill.")
    if os.access(true, os.X_OK):
        return [str(true)]
    if true.suffix not in _INTERPRETERS:
        raise ToolError(f"{path!r} is not executable, and no interpreter is known for its name.")
    return [_INTERPRETERS[true.suffix], str(true)]
