"""Each of the eight invariants is held by tests that fail when it is broken: each is broken once here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.security.breaking import PACKAGES, Break, is_seen, stands_once

EVALUATES = {"eval", "exec", "compile", "__import__"}
UNPICKLES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle"}
CODE_OF_OUR_OWN = {"_records/record.py": "exec", "_records/typed_values.py": "marshal"}
"""`exec` there gets the names of a class's fields, at its definition; `marshal` only writes, to compare
values, and never reads."""


BREAKS = (
    Break(
        "1: a saved run is evaluated",
        "toolkeel/agent/run_state.py",
        "json.loads(text, parse_constant=refuse_constant)",
        "eval(text)",
        "tests/security/test_invariants.py::test_nothing_is_evaluated_unpickled_or_given_to_a_shell",
    ),
    Break(
        "2: an approval is of a tool, whatever the arguments",
        "toolkeel/_records/tickets.py",
        "return _sha256([tool, definition, arguments])",
        "return _sha256([tool, definition])",
        "packages/toolkeel/tests/call/steps/test_approve.py::test_what_a_guard_makes_of_an_edit_is_asked_about_anew",
    ),
    Break(
        "3: bodies have no deadline",
        "toolkeel/call/body/coroutine_deadline.py",
        "            if not context.pause_count:\n",
        "            if False:\n",
        "packages/toolkeel/tests/call/test_kinds.py::test_each_kind_is_stopped_at_its_deadline",
    ),
    Break(
        "4: results are not in the order of the calls",
        "toolkeel/call/batch.py",
        "for index, (call, result) in enumerate(zip(self.calls, self._results, strict=True))",
        "for index, (call, result) in [*enumerate(zip(self.calls, self._results))][::-1]",
        "packages/toolkeel/tests/agent/test_loop.py::test_calls_of_one_turn_run_together_and_their_results_keep_the_order",
    ),
    Break(
        "5: secrets stand in events",
        "toolkeel/call/arguments/mask.py",
        "masked: T = self._known.redact(value) if self._known else value",
        "masked: T = value",
        "packages/toolkeel/tests/call/arguments/test_mask.py::test_any_secret_stays_secret",
    ),
    Break(
        "6: every address is public",
        "toolkeel/_common/public_addresses.py",
        "return not any(address in network for network in SPECIAL)",
        "return True",
        "packages/toolkeel-workspace/tests/sandbox/test_reachable_hosts.py::test_no_spelling_of_an_address_that_is_not_public_is_reached",
    ),
    Break(
        "6: paths may lead out of the root",
        "toolkeel_workspace/files/open_beneath.py",
        "_RESOLVE_BENEATH = 0x08",
        "_RESOLVE_BENEATH = 0x00",
        "packages/toolkeel-workspace/tests/files/test_open_beneath.py::test_a_path_that_leads_out_by_a_link_is_refused_by_each_way",
    ),
    Break(
        "6: what lies within a root is mounted by paths",
        "toolkeel_workspace/sandbox/start_stage.py",
        "return None if find_stage_obstacle() else stage",
        "return None",
        "packages/toolkeel-workspace/tests/sandbox/test_confine.py::test_what_a_command_swaps_while_another_one_starts_leads_nowhere",
    ),
    Break(
        "7: the inspector asks for no token",
        "toolkeel_studio/inspector/access_guard.py",
        'if here and any(_is(each.strip(), f"{COOKIE}={self._token}") for each in cookies):',
        "if True:",
        "packages/toolkeel-studio/tests/inspector/test_access_guard.py::test_without_the_token_nothing_but_the_login_is_seen",
    ),
    Break(
        "7: the inspector answers to every host",
        "toolkeel_studio/inspector/access_guard.py",
        'if headers.get("host", "") not in self._hosts:',
        "if False:",
        "packages/toolkeel-studio/tests/inspector/test_access_guard.py::test_another_name_for_this_machine_is_refused",
    ),
    Break(
        "8: a call that nobody knows about has succeeded",
        "toolkeel/sessions/unknown_outcomes.py",
        'message = ToolMessage(text, call.call_id, call.tool, "error", "unknown_outcome")',
        "message = ToolMessage(text, call.call_id, call.tool)",
        "packages/toolkeel/tests/sessions/test_unknown_outcomes.py::test_of_a_call_that_nobody_knows_about_a_person_is_asked",
    ),
)


NO_PROCESS = {"Workspace"}
"""Calls whose `shell` names a kind of shell; they start no process themselves."""


def evaluated(package: Path) -> Iterator[str]:
    """Where data could become code: what is evaluated, unpickled, or given to a shell."""
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            what = _evaluates(node)
            if what and CODE_OF_OUR_OWN.get(name) != what:
                yield f"{name}:{getattr(node, 'lineno', 0)}: {what}"


def _evaluates(node: ast.AST) -> str:
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [each.name for each in node.names]
        names = names if isinstance(node, ast.Import) else [node.module or ""]
        return next((each for each in names if each.partition(".")[0] in UNPICKLES), "")
    if not isinstance(node, ast.Call):
        return ""
    called = ast.unparse(node.func)
    if any(word.arg == "shell" for word in node.keywords) and called not in NO_PROCESS:
        return "shell="
    return called if called in EVALUATES | {"os.system", "os.popen"} else ""


def test_nothing_is_evaluated_unpickled_or_given_to_a_shell() -> None:
    packages = [Path(*import_module(name).__path__) for name in PACKAGES]  # maybe a copy
    assert [row for package in packages for row in evaluated(package)] == []


def test_what_makes_code_of_data_is_found(tmp_path: Path) -> None:
    lines = ["import pickle", "eval(x)", "run(x, shell=True)", "from marshal import loads"]
    (tmp_path / "a.py").write_text("\n".join([*lines, "os.system(x)", "json.loads(x)"]))
    assert sorted(evaluated(tmp_path)) == [
        "a.py:1: pickle",
        "a.py:2: eval",
        "a.py:3: shell=",
        "a.py:4: marshal",
        "a.py:5: os.system",
    ]


def test_each_invariant_is_broken_once() -> None:
    assert {each.what[0] for each in BREAKS} == set("12345678")


@pytest.mark.slow
@pytest.mark.parametrize("broken", BREAKS, ids=[each.what for each in BREAKS])
def test_a_broken_invariant_fails_its_test(tmp_path: Path, broken: Break) -> None:
    assert stands_once(broken), f"{broken.file} reads differently now"
    assert is_seen(broken, tmp_path)
