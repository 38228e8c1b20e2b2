"""``toolkeel completion``: a script that completes these commands in bash, zsh or fish.

It is generated from the commands and contains everything, so no program runs at a Tab; except after
``call``, where the tools and arguments are those of the target.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, get_args

import typer

from toolkeel._records.record import record
from toolkeel.define.dialect.definition import Form
from toolkeel.providers.model_by_name import AUTO
from toolkeel_studio.cli.terminal.streams import echo


class Shell(StrEnum):
    """Shells that are known."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


_VALUES = {
    "--model": (AUTO, "offline"),
    "--tools": ("builtin", "calculator", "clock", "files", "weather"),
}
"""What may stand after an option, beside the names of files."""

_CALL = "toolkeel call --complete --"
"""Prints what may follow, a line each."""


@record
class CompletedCommand:
    """A command, as a shell completes it.

    Args:
        words: Its name, after its group's.
        help: Its summary.
        options: Each with its spellings, its help, True if a value follows, and the possible values.
    """

    words: tuple[str, ...]
    help: str
    options: tuple[tuple[tuple[str, ...], str, bool, tuple[str, ...]], ...]


def command(
    context: typer.Context, shell: Annotated[Shell, typer.Argument(help="Of which shell.")]
) -> None:
    """Print what makes a shell complete these commands.

    bash: add  source <(toolkeel completion bash)  to ~/.bashrc. zsh: the same with zsh, in
    ~/.zshrc after compinit. fish: toolkeel completion fish > ~/.config/fish/completions/toolkeel.fish
    """
    parent: Any = context.parent
    known = sorted(_commands_below(parent.command, ()), key=lambda each: -len(each.words))
    echo("\n".join(_fish(known) if shell is Shell.FISH else _bash(known, shell)))


def _commands_below(group: Any, above: tuple[str, ...]) -> Iterator[CompletedCommand]:
    for name, each in group.commands.items():
        words = (*above, name)
        options = [
            (tuple(param.opts), str(param.help or ""), not param.is_flag, _values(param))
            for param in each.params
            if param.opts[0].startswith("-") and not getattr(param, "hidden", False)
        ]
        help_ = (("--help", "-h"), "Say what it does.", False, ())
        yield CompletedCommand(words, each.get_short_help_str(200), (*options, help_))
        if hasattr(each, "commands"):
            yield from _commands_below(each, words)


def _values(param: Any) -> tuple[str, ...]:
    """Return the values that a person can choose from."""
    if isinstance(param.default, StrEnum):
        return tuple(type(param.default))
    if "--provider" in param.opts:
        return ("openai", *get_args(Form))
    return next((_VALUES[name] for name in param.opts if name in _VALUES), ())


def _completes_files(values: tuple[str, ...]) -> bool:
    """Return True if a file name is possible as well."""
    return not values or values in _VALUES.values()


def _bash(known: list[CompletedCommand], shell: Shell) -> Iterator[str]:
    """Yield a bash function; zsh reads it as well."""
    if shell is Shell.ZSH:
        yield "autoload -U +X bashcompinit && bashcompinit"
    groups = sorted({each.words[0] for each in known if len(each.words) > 1})
    yield "_toolkeel() {"
    yield '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"'
    yield '    local place="${COMP_WORDS[1]}" names="" files=1'
    yield '    [ "$COMP_CWORD" -le 1 ] && place=""'
    yield f'    case "$place" in {"|".join(groups)})'
    yield '        [ "$COMP_CWORD" -gt 2 ] && place="$place ${COMP_WORDS[2]}" ;;'
    yield "    esac"
    yield '    if [ "$place" = call ] && [ "$COMP_CWORD" -gt 2 ] && [ "${word#-}" = "$word" ]; then'
    yield "        local IFS=$'\\n'"
    yield f'        COMPREPLY=($({_CALL} "${{COMP_WORDS[@]:2:COMP_CWORD-1}}" 2>/dev/null))'
    yield '        case "${COMPREPLY[0]}" in *=) compopt -o nospace 2>/dev/null ;; esac'
    yield '        if [ -n "${COMPREPLY[0]}" ]; then compopt +o filenames 2>/dev/null; return; fi'
    yield "    fi"
    yield '    case "$place $before|$word" in'
    for each in known:
        for spellings, _, takes, values in each.options:
            if takes:
                cases = "|".join(f'"{" ".join(each.words)} {one}|"*' for one in spellings)
                files = "" if _completes_files(values) else " files="
                yield f'        {cases}) names="{" ".join(values)}"{files} ;;'
    for each in known:
        longest = " ".join(max(spellings, key=len) for spellings, *_ in each.options)
        yield f'        "{" ".join(each.words)} "*"|-"*) names="{longest}" files= ;;'
    for place in ("", "completion", *groups):
        names = _below(known, tuple(place.split()))
        yield f'        "{place} "*) names="{names}" files= ;;'
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$names" -- "$word"))'
    yield "    local IFS=$'\\n'"
    yield '    [ -z "$files" ] || COMPREPLY+=($(compgen -f -- "$word"))'
    yield "}"
    yield "complete -o filenames -F _toolkeel toolkeel"


def _below(known: list[CompletedCommand], words: tuple[str, ...]) -> str:
    if not words:
        return " ".join(each.words[0] for each in known if len(each.words) == 1)
    if words == ("completion",):
        return " ".join(Shell)
    return " ".join(each.words[-1] for each in known if each.words[:-1] == words)


def _fish(known: list[CompletedCommand]) -> Iterator[str]:
    for each in known:
        *above, name = each.words
        seen = (
            f"__fish_seen_subcommand_from {' '.join(above)}" if above else "__fish_use_subcommand"
        )
        yield _fish_line(f"-f -n {shlex.quote(seen)} -a {name}", each.help)
        here = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in each.words)
        for spellings, told, takes, values in each.options:
            words = [f"-n {shlex.quote(here)}"]
            words += [
                f"-l {one[2:]}" if one.startswith("--") else f"-s {one[1:]}" for one in spellings
            ]
            words += ["-r" if _completes_files(values) else "-x"] if takes else []
            words += [f"-a {shlex.quote(' '.join(values))}"] if values else []
            yield _fish_line(" ".join(words), told)
    asked = f"({_CALL} (commandline -opc)[3..] (commandline -ct) 2>/dev/null)"
    yield f"complete -c toolkeel -n '__fish_seen_subcommand_from call' -a {shlex.quote(asked)}"
    shells = f"-f -n '__fish_seen_subcommand_from completion' -a '{' '.join(Shell)}'"
    yield _fish_line(shells, "Of which shell.")


def _fish_line(words: str, told: str) -> str:
    return f"complete -c toolkeel {words} -d {shlex.quote(told)}"
