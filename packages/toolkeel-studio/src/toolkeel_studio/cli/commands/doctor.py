"""``toolkeel doctor``: installed parts, missing parts, and what to do next."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from toolkeel.observe.wording import one_line, pretty
from toolkeel_studio.cli.doctor import extras as check_extras
from toolkeel_studio.cli.doctor import keys as check_keys
from toolkeel_studio.cli.doctor import models as check_models
from toolkeel_studio.cli.doctor import python as check_python
from toolkeel_studio.cli.doctor import sandbox as check_sandbox
from toolkeel_studio.cli.doctor.section import Check, Look, Section
from toolkeel_studio.cli.exit_codes import FAILED
from toolkeel_studio.cli.terminal.streams import BOLD, DIM, GREEN, YELLOW, echo, layout, styled
from toolkeel_studio.cli.terminal.text import cells, padded

SECTIONS: tuple[Look, ...] = (
    check_python.check_python,
    check_extras.check_extras,
    check_keys.check_keys,
    check_models.check_models,
    check_sandbox.check_sandbox,
)
"""What is looked at, in the order in which it is shown. A new section is a file and a line here."""

_MARKS = {"ok": ("✓", GREEN), "missing": ("·", DIM), "problem": ("!", YELLOW)}


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Try to get out of the sandbox, harmlessly.")
    ] = False,
) -> None:
    """Say what is here, what is missing and what to do next.

    Looks at Python, extras, keys (which are never shown) and model servers on this machine.
    Nothing is changed, and nothing is sent beyond this machine. Exit code 1 if something found
    will get in the way.
    """
    looks = (*SECTIONS, check_sandbox.probe_sandboxes) if deep else SECTIONS
    sections = [look() for look in looks]
    if as_json:
        echo(pretty([section_json(section) for section in sections]))
    else:
        layout(report_lines(sections))
    if any(check.state == "problem" for section in sections for check in section.checks):
        raise typer.Exit(FAILED)


def section_json(section: Section) -> dict[str, object]:
    """Convert a section to JSON data."""
    checks = [
        {
            "name": check.name,
            "state": check.state,
            "text": check.text,
            "next": check.next,
            "data": dict(check.data),
        }
        for check in section.checks
    ]
    return {"title": section.title, "checks": checks, "next": list(section.next)}


def report_lines(sections: Sequence[Section]) -> list[str]:
    """Format the sections for people, with the next steps at the end."""
    lines = []
    for section in sections:
        lines.append(styled(section.title, BOLD, sys.stdout))
        width = max((cells(one_line(check.name)) for check in section.checks), default=0) + 2
        lines += [_line(check, width) for check in section.checks]
        lines.append("")
    steps = [check.next for one in sections for check in one.checks if check.state == "problem"]
    steps += [step for section in sections for step in section.next]
    lines.append(styled("Next", BOLD, sys.stdout))
    return lines + [f"  {one_line(step)}" for step in filter(None, steps)]


def _line(check: Check, width: int) -> str:
    mark, style = _MARKS[check.state]
    text = one_line(check.text + (f"; {check.next}" if check.next else ""))
    if check.state == "missing":
        text = styled(text, DIM, sys.stdout)
    return f"  {styled(mark, style, sys.stdout)} {padded(one_line(check.name), width)}{text}"
