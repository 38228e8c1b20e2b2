r"""A shell whose folder, variables and functions last from command to command.

Each command still runs in a process and a sandbox of its own, which end with it. A script around it
prints, behind the command's output, the state that the next command starts with. So nothing hangs
between commands, and a command that is killed loses only what it changed itself.

::

    state ──> baseline, state, command, exit trap ──> output \0mark length\0 state \0nonce\0
      ^                                                              │
      └────────── what differs from the baseline, if it is complete ─┘
"""

from __future__ import annotations

import re
import secrets
import shlex
import subprocess
from collections.abc import Callable, Mapping
from functools import cache

from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel_workspace.files.line_window import format_size
from toolkeel_workspace.sandbox.confine import Sandbox
from toolkeel_workspace.shell.command import make_shell_argv
from toolkeel_workspace.shell.lifetime import (
    SHELL,
    Lifetime,
    ends_with_run,
    find_owner,
    has_earlier_shell,
)
from toolkeel_workspace.shell.output_tail import OutputTail

_MAX_HEAD = 50
"""More bytes than the mark before a state has."""
MAX_STATE = 48 << 10
"""Bytes of state that are kept: it goes into one argument of a program, which has a limit."""
_MAX_PRINTED = 1 << 20
"""Bytes of state that are separated from output; a longer one is output."""
_SCRIPT = r"""exec {_tk_out}>&1
_tk_exit='' _tk_umask=$(umask)
declare -A _tk_now _tk_base
_tk_add() {
  case $1 in
    _|PWD|SHLVL|PPID|UID|EUID|GROUPS|SHELLOPTS|RANDOM|SRANDOM|SECONDS|LINENO|PIPESTATUS) ;;
    FUNCNAME|DIRSTACK|HISTCMD|OPTARG|OPTIND|OPTERR|_tk_*|BASH|BASHOPTS|BASHPID|BASH_*) ;;
    EPOCHSECONDS|EPOCHREALTIME|COMP_WORDBREAKS) ;;
    *) _tk_now[$1]=$2 ;;
  esac
}
_tk_list() {
  _tk_now=()
  while IFS= read -r _tk_n; do  # declared, without a value
    [[ $_tk_n =~ ^declare\ -[-a-zA-Z]+\ ([a-zA-Z_][a-zA-Z0-9_]*)$ ]] && _tk_add "${BASH_REMATCH[1]}" "$_tk_n"
  done <<< "$(builtin declare -p)"
  while IFS= read -r _tk_n; do
    if [[ -R $_tk_n ]]; then _tk_add "$_tk_n" "$(builtin declare -p "$_tk_n")"; continue; fi
    _tk_r="$_tk_n[@]"; _tk_r=${!_tk_r@A}
    [[ -z $_tk_r ]] || _tk_add "$_tk_n" "$_tk_r"
  done <<< "$(builtin compgen -v)"
}
_tk_print() {
  builtin printf 'cd -- %q\n' "$PWD"
  [[ -z $(builtin declare -F eval) ]] || builtin printf '# eval\n'
  [[ $_tk_umask == "$(builtin umask)" ]] || builtin printf 'umask %s\n' "$(builtin umask)"
  for _tk_n in "${!_tk_now[@]}"; do
    [[ ${_tk_base[$_tk_n]-} == "${_tk_now[$_tk_n]}" ]] || builtin printf '%s\n' "${_tk_now[$_tk_n]}"
  done
  for _tk_n in "${!_tk_base[@]}"; do
    [[ ${_tk_now[$_tk_n]+x} ]] || builtin printf 'unset -v %s\n' "$_tk_n"
  done
  while IFS= read -r _tk_n; do
    [[ -z $_tk_n || $_tk_n == _tk_* || $_tk_n == eval ]] && continue
    [[ $_tk_n == trap && $(builtin declare -f trap) == *_tk_exit* ]] || builtin declare -f -- "$_tk_n"
  done <<< "$(builtin compgen -A function)"
  while IFS= read -r _tk_n; do
    [[ $_tk_n == 'declare -fx eval' ]] || builtin printf '%s\n' "$_tk_n"
  done <<< "$(builtin declare -Fx)"
  [[ $_tk_hidden != 'builtin ()'* ]] || builtin printf '%s\n' "$_tk_hidden"
}
_tk_save() {
  {
    POSIXLY_CORRECT=1; set +eux  # functions may hide all but set and unset
    _tk_hidden=$(declare -f builtin); unset -f builtin; unset -v POSIXLY_CORRECT
  } 2>/dev/null
  _tk_list
  _tk_state=$(_tk_print)
  LC_ALL=C
  builtin printf '\0NONCE %d\0%s\0NONCE\0' "${#_tk_state}" "$_tk_state" >&"$_tk_out"
}
_tk_end() {
  _tk_code=$?
  ( _tk_save )
  [[ -z $_tk_exit ]] || { (exit "$_tk_code") || :; eval "$_tk_exit"; }
}
trap() {  # a trap on EXIT runs when this command ends, behind the one that saves the state
  if [[ $BASHPID != $$ || $# == 0 || $1 == -[lp]* ]]; then builtin trap "$@"; return; fi
  [[ $1 != -- ]] || shift
  local _tk_do=- _tk_name _tk_failed=0
  (($# < 2)) || { _tk_do=$1; shift; }
  for _tk_name; do
    case $_tk_name in
      EXIT|exit|SIGEXIT|0) _tk_exit=${_tk_do#-} ;;
      *) builtin trap -- "$_tk_do" "$_tk_name" || _tk_failed=$? ;;
    esac
  done
  return "$_tk_failed"
}
_tk_gone() {
  printf 'The folder of this shell is gone, so the command was not run. The next one starts in %s.\n' "$PWD" >&2
  exit 1
}
builtin trap _tk_end EXIT
_tk_list
for _tk_n in "${!_tk_now[@]}"; do _tk_base[$_tk_n]=${_tk_now[$_tk_n]}; done
"""
_LOST = (
    "The state of the shell was not saved: the next command starts with the folder, variables and "
    "functions from before this one"
)
_NO_EVAL = (
    "The function eval is not kept, because this shell needs the builtin of that name: the next command "
    "starts without it."
)
_NEW = (
    "This is a new shell: the folder, variables and functions of earlier commands are gone, as the "
    "agent had finished or waited for a person, or the program had ended."
)


class PersistentShell:
    """The states of shells, by what they belong to.

    Args:
        sandbox: What commands may do.
        lifetime: How long a state lasts.

    Raises:
        SetupError: this machine has no bash from 4.4 on.
    """

    def __init__(self, sandbox: Sandbox, lifetime: Lifetime) -> None:
        if not _has_recent_bash():
            raise SetupError("shell='persistent' needs bash 4.4 or later; leave it out")
        self.sandbox = sandbox
        self.lifetime: Lifetime = lifetime
        self._states: dict[str, str] = {}

    def restore(self, run: RunContext, command: str) -> str:
        """Return a line of shell that runs a command in the state of a run's shell, and saves none."""
        state = self._states.get(find_owner(run, self.lifetime), "")
        if not state:
            return command
        folder, _, rest = state.partition("\n")  # elsewhere the command could do harm
        return f"{folder} || exit 1\n{rest}\n{command}"

    def begin(self, run: RunContext, report: Callable[[str], object]) -> ShellCall:
        """Return what runs the next command of a run's shell.

        Args:
            run: The run.
            report: Called with the last lines of output whenever there are more.
        """
        owner, notices = find_owner(run, self.lifetime), list[str]()
        if owner not in self._states:
            self._states[owner] = ""
            if has_earlier_shell(run):
                notices.append(_NEW)
            if ends_with_run(owner):
                run.loop_state.cleanups.append(lambda: self._forget(owner))
        return PersistentCall(report, self._states, owner, notices)

    async def _forget(self, owner: str) -> None:
        self._states.pop(owner, None)

    def is_changed(self) -> bool:
        """Return True if a command has changed the state of any shell."""
        start = f"cd -- {shlex.quote(str(self.sandbox.roots[0]))}"
        return any(state not in ("", start) for state in self._states.values())


class ShellCall:
    """One command in a new shell.

    Args:
        report: Called with the last lines of output whenever there are more.

    Attributes:
        tail: Receives the command's output.
        details: For the details of the result.
    """

    def __init__(self, report: Callable[[str], object]) -> None:
        self.tail = OutputTail(report)
        self.details: Mapping[str, object] = {}

    def make_line(self, command: str) -> str:
        """Return the line of shell that runs a command."""
        return command

    def finish(self) -> list[str]:
        """Return what the model must know of the shell, as texts."""
        return []


class PersistentCall(ShellCall):
    """One command in a persistent shell.

    Args:
        report: Called with the last lines of output whenever there are more.
        states: The states, of which it replaces one.
        owner: Key of that one.
        notices: What the model must know already.
    """

    tail: StateReader

    def __init__(
        self,
        report: Callable[[str], object],
        states: dict[str, str],
        owner: str,
        notices: list[str],
    ) -> None:
        super().__init__(report)
        self.tail = StateReader(report)
        self.details = {SHELL: True}
        self._states = states
        self._owner = owner
        self._notices = notices

    def make_line(self, command: str) -> str:
        """Return the line that runs a command in the state, and prints the state behind its output."""
        script = _SCRIPT.replace("NONCE", self.tail.nonce)
        folder, _, rest = self._states[self._owner].partition("\n")
        before = f"{script}{rest}"
        if folder:  # entered before a function may be called cd; what is restored may name OLDPWD
            enter = f"{folder} 2>/dev/null; _tk_there=$?; unset -v OLDPWD"
            before = f"{enter}\n{before}\n[[ $_tk_there == 0 ]] || _tk_gone"
        return f"eval {_quote_in_one_line(before)}; eval {_quote_in_one_line(command)}"

    def finish(self) -> list[str]:
        """Keep the state that the command has left. Return what the model must know, as texts."""
        state = self.tail.state
        if state is None:
            return [
                *self._notices,
                f"{_LOST} (it was killed, or ended without its exit trap, as with exec)",
            ]
        if (size := len(state.encode("utf-8", "surrogateescape"))) > MAX_STATE:
            why = f"it has {format_size(size)}, and {format_size(MAX_STATE)} are kept at most"
            return [*self._notices, f"{_LOST} ({why})."]
        if self._owner in self._states:
            self._states[self._owner] = state
        has_eval = state.partition("\n")[2].startswith("# eval\n")
        return [*self._notices, _NO_EVAL] if has_eval else self._notices


def _quote_in_one_line(text: str) -> str:
    """Quote text for bash without line ends, so that errors count lines from those of the command."""
    escaped = text.replace("\\", r"\\").replace("'", r"\'").replace("\n", r"\n")
    return f"$'{escaped}'"


class StateReader(OutputTail):
    """Output that ends with the state of a shell, which it separates.

    Attributes:
        nonce: Marks the state in the output.
        state: The state; None if it did not arrive complete.
    """

    def __init__(self, report: Callable[[str], object]) -> None:
        super().__init__(report)
        self.nonce = f"shell-{secrets.token_hex(12)}"
        self.state: str | None = None
        self._held = b""
        self._is_done = False
        self._head = re.compile(rb"\0%b (\d{1,9})\0" % self.nonce.encode())
        self._mark = b"\0%b\0" % self.nonce.encode()

    def add(self, piece: bytes) -> None:
        """Add the next piece of output; hold back what may be state."""
        data, self._held = self._held + piece, b""
        found = None if self._is_done else self._head.search(data)
        if found is not None:
            data = self._take_state(data, found)
        elif not self._is_done and (start := data.find(b"\0", -_MAX_HEAD)) >= 0:
            data, self._held = data[:start], data[start:]
        if data:
            super().add(data)

    def _take_state(self, data: bytes, head: re.Match[bytes]) -> bytes:
        """Take the state out of output, or hold it back if its end is missing. Return the rest."""
        end = head.end() + int(head[1])
        last = end + len(self._mark)
        if len(data) < last <= head.end() + _MAX_PRINTED:
            self._held = data[head.start() :]
            return data[: head.start()]
        self._is_done = True
        if data[end:last] == self._mark:
            self.state = data[head.end() : end].decode("utf-8", "surrogateescape")
            return data[: head.start()] + data[last:]
        return data

    def close(self) -> None:
        """Close it. What was held back is output, unless it is the beginning of a state."""
        held, self._held, self._is_done = self._held, b"", True
        if held and not self._head.match(held):
            super().add(held)
        super().close()


class ShellPredicate:
    """Approval of commands in a persistent shell.

    A rule that allows a command counts on a shell as it starts: an earlier command may have put another
    program or a function in its place.

    Args:
        shell: The shell.
    """

    def __init__(self, shell: PersistentShell) -> None:
        self._shell = shell
        self._asks = shell.sandbox.backend == "none"

    def __call__(self, arguments: Mapping[str, object]) -> str:
        """Return why a call needs approval, or an empty string if it does not."""
        return "it runs without a sandbox" if self._asks else ""

    def despite_rules(self, arguments: Mapping[str, object]) -> str:
        """Return why a call needs approval although a rule allows it, or empty if it does not."""
        matters = self._asks or bool(self._shell.sandbox.network)
        if matters and self._shell.is_changed():
            return "earlier commands have changed this shell, so a name may run something else"
        return ""


@cache
def _has_recent_bash() -> bool:
    shell, option, _ = make_shell_argv("")
    check = "((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404))"
    done = subprocess.run([shell, option, check], capture_output=True, check=False)
    return done.returncode == 0
