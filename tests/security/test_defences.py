"""Of each of the fifty threats one defence is taken out, and a test that the page names fails."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.security.breaking import Break, is_seen, stands_once
from tests.shared import ROOT

PAGE = ROOT / "docs" / "project" / "security-tests.md"
FILES, SANDBOX = (
    "packages/toolkeel-workspace/tests/files",
    "packages/toolkeel-workspace/tests/sandbox",
)
WEB, MCP, STEPS = (
    "packages/toolkeel-workspace/tests/web",
    "packages/toolkeel/tests/mcp/client",
    "packages/toolkeel/tests/call/steps",
)

BREAKS = (
    Break(
        "T1: '..' is a part like any other",
        "toolkeel_workspace/files/relative_path.py",
        'if any(".." in part.split("\\\\") for part in parts):',
        "if False:",
        f"{FILES}/test_open_beneath.py::test_a_path_that_leads_out_by_its_words_is_refused",
    ),
    Break(
        "T2: files with a second name are written to",
        "toolkeel_workspace/files/atomic_replace.py",
        "if found.st_nlink > 1:",
        "if False:",
        f"{FILES}/test_atomic_replace.py::test_a_file_with_a_second_name_is_not_written",
    ),
    Break(
        "T3: pipes are read",
        "toolkeel_workspace/files/open_beneath.py",
        "if stat.S_ISREG(mode):",
        "if True:",
        f"{FILES}/test_open_beneath.py::test_a_pipe_is_refused_without_waiting_for_it",
    ),
    Break(
        "T4: the old content is gone before the new one is there",
        "toolkeel_workspace/files/atomic_replace.py",
        "        _remove_leftovers(opened)\n",
        "        _remove_leftovers(opened)\n"
        "        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, dir_fd=opened.handle))\n",
        f"{FILES}/test_atomic_replace.py::test_a_kill_in_the_middle_leaves_the_old_content_or_the_new",
    ),
    Break(
        "T5: nobody looks whether a file was changed",
        "toolkeel_workspace/files/changed_since_read.py",
        "if known is not None and known.digest != _hash_data(data):",
        "if False:",
        f"{FILES}/test_workspace.py::test_a_file_that_was_changed_since_it_was_read_is_read_again_first",
    ),
    Break(
        "T6: no file is protected",
        "toolkeel_workspace/files/protected_writes.py",
        '        """Return why a call needs approval, or an empty string if it does not."""\n',
        '        return ""\n',
        f"{FILES}/test_workspace.py::test_a_protected_file_is_asked_about_whatever_the_rules_allow",
    ),
    Break(
        "T7: what cannot be seen is shown as it is",
        "toolkeel/observe/wording.py",
        '_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))',
        "_UNSEEN = frozenset[str]()",
        "packages/toolkeel-studio/tests/cli/terminal/test_approve.py::test_what_cannot_be_seen_is_shown",
    ),
    Break(
        "T8: a pattern may be an option",
        "toolkeel_workspace/files/ripgrep.py",
        '[*words, "-e", _allow_crlf(pattern), "-e", _NOT_UTF_8, "--", "./"]',
        '[*words, _allow_crlf(pattern), "./"]',
        f"{FILES}/test_grep.py::test_names_and_patterns_are_never_commands_or_options",
    ),
    Break(
        "T9: any line is a plain command",
        "toolkeel/call/steps/command_patterns.py",
        "or not _PLAIN.fullmatch(text)",
        "or not text",
        f"{STEPS}/test_command_patterns.py::test_no_line_but_the_plain_one_is_covered_by_a_rule",
    ),
    Break(
        "T10: a machine without a sandbox says nothing",
        "toolkeel_workspace/sandbox/confine.py",
        'if found.backend == "none":',
        "if False:",
        f"{SANDBOX}/test_confine.py::test_without_bubblewrap_landlock_is_used_and_without_both_nothing_runs",
    ),
    Break(
        "T11: bubblewrap has our environment",
        "toolkeel_workspace/sandbox/confine.py",
        "words, {}, tuple(pass_fds), on_close",
        "words, dict(os.environ), tuple(pass_fds), on_close",
        f"{SANDBOX}/test_confine.py::test_no_environment_that_can_be_read_inside_holds_our_secrets",
    ),
    Break(
        "T12: no limit is set",
        "toolkeel/executors/command_limits.py",
        "[*lines, 'exec \"$@\"']",
        "['exec \"$@\"']",
        "packages/toolkeel-workspace/tests/sandbox/test_command_limits.py::test_memory_and_file_size_are_limited",
    ),
    Break(
        "T13: a command outlives who started it",
        "toolkeel_workspace/sandbox/bubblewrap.py",
        '"--unshare-all", "--die-with-parent",',
        '"--unshare-all",',
        f"{SANDBOX}/test_confine.py::test_a_command_dies_with_the_process_that_started_it",
    ),
    Break(
        "T14: powers have no bound",
        "toolkeel/builtin/calculator.py",
        "if longest > _MAX_BITS:",
        "if False:",
        "packages/toolkeel/tests/builtin/test_calculator.py::test_an_attack_is_refused_at_once_and_touches_nothing",
    ),
    Break(
        "T15: code is not ended",
        "toolkeel_workspace/code/code_limits.py",
        "    compute_seconds: float = 10.0\n",
        "    compute_seconds: float = 10.0\n    __getattribute__ = lambda self, name: 1e6"
        " if name in ('compute_seconds', 'total_seconds') else object.__getattribute__(self, name)\n",
        "packages/toolkeel-workspace/tests/code/test_interpreter.py::test_whatever_starves_the_host_is_stopped_and_the_next_call_works",
    ),
    Break(
        "T16: threads are left behind without end",
        "toolkeel/call/body/thread_pool.py",
        "if self.leaked >= self.max_abandoned:",
        "if False:",
        "packages/toolkeel/tests/executors/test_process.py::test_in_threads_the_leaked_are_told_and_the_thirty_third_is_refused",
    ),
    Break(
        "T17: addresses are not looked at",
        "toolkeel_workspace/sandbox/reachable_hosts.py",
        "for text in found:\n                self._check_address",
        "for text in ():\n                self._check_address",
        "packages/toolkeel-workspace/tests/sandbox/test_reachable_hosts.py::test_no_spelling_of_an_address_that_is_not_public_is_reached",
    ),
    Break(
        "T18: schemas may be fetched",
        "toolkeel/define/schema/json_schema_validator.py",
        "offline=True",
        "offline=False",
        "packages/toolkeel/tests/define/schema/test_json_schema_validator.py::test_a_reference_to_a_server_is_refused_without_asking_it",
    ),
    Break(
        "T19: a step may give any number of bytes",
        "toolkeel_workspace/web/bounded_decompression.py",
        "self._engine.decompress(data, MAX_STEP)",
        "self._engine.decompress(data)",
        f"{WEB}/test_bounded_decompression.py::test_a_piece_is_never_larger_than_a_step",
    ),
    Break(
        "T20: a page may take as long as it likes",
        "toolkeel_workspace/web/client.py",
        "asyncio.timeout(self.limits.total_seconds)",
        "asyncio.timeout(20 + self.limits.total_seconds)",
        f"{WEB}/test_client.py::test_a_server_that_drips_ends_at_the_deadline",
    ),
    Break(
        "T21: a credential goes to whoever is asked",
        "toolkeel_workspace/web/client.py",
        "self._auth.get(get_origin(url))",
        "next(iter(self._auth.values()), None)",
        f"{WEB}/test_client.py::test_a_credential_goes_to_its_origin_and_no_further",
    ),
    Break(
        "T22: a redirect leads anywhere",
        "toolkeel_workspace/web/fetch.py",
        "lambda place: may_follow(context, url, place, trusted)",
        "lambda place: None",
        f"{WEB}/test_fetch.py::test_a_redirect_to_a_place_nobody_named_is_refused_after_private_data",
    ),
    Break(
        "T23: all servers have one prefix",
        "toolkeel/mcp/client/mcp_server.py",
        'return f"{self.name}_"',
        'return "server_"',
        f"{MCP}/test_mcp_server.py::test_an_agent_uses_two_servers_whose_tools_share_names",
    ),
    Break(
        "T24: descriptions stay as they come",
        "toolkeel/mcp/client/tool.py",
        "cleaned, hidden = clean_definition(raw)",
        "cleaned, hidden = raw, clean_definition({})[1]",
        f"{MCP}/test_mcp_server.py::test_hidden_characters_are_out_of_the_description_and_reported",
    ),
    Break(
        "T25: any definition is the approved one",
        "toolkeel/mcp/client/tool.py",
        "if now is None or pinned.digest == now.digest:",
        "if True:",
        f"{MCP}/test_mcp_server.py::test_a_changed_definition_voids_the_approval_in_mid_session_and_shows_the_difference",
    ),
    Break(
        "T26: annotations of anybody count",
        "toolkeel/mcp/client/tool.py",
        'peer.effects_of(tool, options.get("effects"))',
        'options.get("effects")',
        f"{MCP}/test_tool.py::test_annotations_count_only_of_a_server_that_is_trusted",
    ),
    Break(
        "T27: nobody need agree",
        "toolkeel/mcp/consent.py",
        "if not config.origin or prompter is True:",
        "if True:",
        "packages/toolkeel/tests/mcp/test_consent.py::test_a_server_of_a_file_is_not_started_unasked_and_its_command_is_told",
    ),
    Break(
        "T28: a line may have any length",
        "toolkeel/mcp/client/frames.py",
        "if len(self._buffer) > self._limit:",
        "if False:",
        f"{MCP}/test_frames.py::test_a_line_without_end_takes_no_memory_and_the_next_line_is_read",
    ),
    Break(
        "T29: a key may be there twice",
        "toolkeel/call/arguments/parse.py",
        "if len(value) != len(pairs):",
        "if False:",
        "packages/toolkeel/tests/call/arguments/test_parse.py::test_what_json_forbids_or_doubts_is_refused_with_its_place",
    ),
    Break(
        "T30: an id has one result, however many calls have it",
        "toolkeel/call/batch.py",
        "await run_call(call, tools, self._run)",
        "await run_call(next(c for c in self.calls if c.id == call.id), tools, self._run)",
        "packages/toolkeel/tests/call/test_contract.py::test_empty_and_repeated_ids_are_answered_call_by_call",
    ),
    Break(
        "T31: what a schema costs is not asked",
        "toolkeel/define/schema/json_schema_validator.py",
        "unknown = check_work(plain)",
        "unknown: tuple[str, ...] = ()",
        "packages/toolkeel/tests/define/schema/test_json_schema_validator.py::test_a_schema_that_would_cost_too_much_is_refused_quickly",
    ),
    Break(
        "T32: a text is given whole",
        "toolkeel/call/truncate.py",
        "return shorten(content, limit, keeper, rest)",
        "return content",
        "packages/toolkeel/tests/call/test_truncate.py::test_every_kind_of_text_is_capped_and_the_whole_is_kept_for_the_program",
    ),
    Break(
        "T33: strangers' text leaves no label",
        "toolkeel/call/steps/label_sources.py",
        "if effects.stranger or (rows and not is_ours):",
        "if rows and not is_ours:",
        "tests/security/test_gullible.py::test_a_model_that_obeys_every_order_does_nothing_unasked",
    ),
    Break(
        "T34: a terminal is told what it obeys",
        "toolkeel/observe/wording.py",
        'return _CONTROLS.sub(_visible, text.replace("\\r\\n", "\\n"))',
        "return text",
        "packages/toolkeel/tests/observe/test_wording.py::test_nothing_a_terminal_obeys_is_left_after_escaping",
    ),
    Break(
        "T35: secrets stand in events",
        "toolkeel/call/arguments/mask.py",
        "masked: T = self._known.redact(value) if self._known else value",
        "masked: T = value",
        "packages/toolkeel/tests/call/arguments/test_mask.py::test_however_a_call_ends_the_secret_is_in_the_body_alone",
    ),
    Break(
        "T36: what is written has no mark",
        "toolkeel/call/steps/label_sources.py",
        "mark_file(path, str(found[-1]), below)",
        "pass",
        "tests/security/test_marked_files.py::test_another_run_that_reads_what_one_wrote_after_a_page_has_read_a_stranger",
    ),
    Break(
        "T37: what runs is what a step makes of it",
        "toolkeel/call/steps/approve.py",
        "if question is not None:\n                prepared = from_canonical",
        "if False:\n                prepared = from_canonical",
        f"{STEPS}/test_approve.py::test_a_step_after_the_approval_cannot_change_what_runs",
    ),
    Break(
        "T38: what was typed before the question answers it",
        "toolkeel_studio/cli/terminal/terminal_keys.py",
        "termios.tcflush(self._fd, termios.TCIFLUSH)",
        "pass",
        "packages/toolkeel-studio/tests/cli/terminal/test_approve.py::test_what_was_typed_before_the_question_answers_nothing",
    ),
    Break(
        "T39: CI is a person",
        "toolkeel_studio/cli/terminal/approve.py",
        'if os.environ.get("CI"):',
        "if False:",
        "packages/toolkeel-studio/tests/cli/terminal/test_approve.py::test_in_ci_a_terminal_is_not_asked_and_nothing_is_approved",
    ),
    Break(
        "T40: all runs share their labels",
        "toolkeel/context.py",
        "self.taint: Taint | None = None",
        'self.taint = vars(Taint)["until"].__dict__.setdefault("of all", Taint(self))',
        "tests/security/test_tenants.py::test_two_hundred_runs_at_once_keep_their_own_secrets_and_labels",
    ),
    Break(
        "T41: what nobody knows about runs again",
        "toolkeel/sessions/unknown_outcomes.py",
        "if has_outcome or call.repeatable or _is_answered(fold, call) or _waits_inside(fold, call):",
        "if True:",
        "packages/toolkeel/tests/sessions/test_unknown_outcomes.py::test_of_a_call_that_nobody_knows_about_a_person_is_asked",
    ),
    Break(
        "T42: entries of two writers take each other's places",
        "toolkeel/sessions/stores/database_store.py",
        "sql_queries.insert_entries(connection, id, batch.rows)",
        'last = {"after": batch.after, "id": id}\n'
        '        connection.execute("DELETE FROM entry WHERE session = :id AND seq > :after", last)\n'
        '        connection.execute("UPDATE session SET head = coalesce(:after, head) WHERE id = :id", last)\n'
        "        sql_queries.insert_entries(connection, id, batch.rows)",
        "packages/toolkeel/tests/sessions/test_journal.py::test_a_writer_that_was_frozen_cannot_write_between_anothers_entries",
    ),
    Break(
        "T43: a mark may be made twice",
        "toolkeel/_records/used_tickets.py",
        "os.O_WRONLY | os.O_CREAT | os.O_EXCL",
        "os.O_WRONLY | os.O_CREAT",
        "packages/toolkeel/tests/_records/test_used_tickets.py::test_of_many_at_once_one_wins",
    ),
    Break(
        "T44: any version is read",
        "toolkeel/agent/run_state.py",
        "if type(version) is not int or version not in READ:",
        "if False:",
        "packages/toolkeel/tests/agent/test_run_state.py::test_another_version_is_refused_and_named",
    ),
    Break(
        "T45: a name is a part of the query",
        "toolkeel/sessions/stores/sql_queries.py",
        'f"SELECT {_COLUMNS} FROM session WHERE scope = ? AND name = ?", (scope, name)',
        "f\"SELECT {_COLUMNS} FROM session WHERE scope = '{scope}' AND name = '{name}'\"",
        "packages/toolkeel/tests/sessions/test_sessions.py::test_no_name_of_a_session_is_a_query",
    ),
    Break(
        "T46: forms of other pages count",
        "toolkeel_studio/inspector/access_guard.py",
        'if request.method not in ("GET", "HEAD") and not self._is_own(headers):',
        "if False:",
        "packages/toolkeel-studio/tests/inspector/test_access_guard.py::test_a_form_of_another_page_changes_nothing",
    ),
    Break(
        "T47: any cluster is taken",
        "toolkeel_studio/ray/cluster.py",
        "if not (_requires_token(found) or _is_loopback_only(found)):",
        "if False:",
        "packages/toolkeel-studio/tests/ray/test_cluster.py::test_a_head_that_asks_for_no_token_is_refused_where_others_reach_it",
    ),
    Break(
        "T49: the same call fails for ever",
        "toolkeel/call/steps/call_limits.py",
        "if count >= MAX_REPEATS:",
        "if False:",
        f"{STEPS}/test_call_limits.py::test_the_same_call_that_fails_three_times_in_the_same_way_is_not_run_again",
    ),
    Break(
        "T50: a message may be no object",
        "toolkeel/executors/frames.py",
        "if not isinstance(message, dict):",
        "if False:",
        "packages/toolkeel/tests/executors/test_frames.py::test_what_is_too_large_or_no_object_is_taken_by_nobody",
    ),
)
ELSEWHERE = {
    "T48": "gates over the whole repository, each with a test that plants what it must find",
}
"""Threats of which nothing is taken out here, with the reason."""


def rows() -> dict[str, str]:
    """The line of each threat on the page."""
    return {
        found[1]: found[0]
        for found in re.finditer(r"(?m)^\| (T\d+) \|.*$", PAGE.read_text("utf-8"))
    }


def test_of_each_threat_a_defence_is_taken_out_or_it_says_why_not() -> None:
    broken = [each.what.partition(":")[0] for each in BREAKS]
    assert {*broken, *ELSEWHERE} == set(rows())
    assert all(ELSEWHERE.values())


@pytest.mark.parametrize("broken", BREAKS, ids=[each.what for each in BREAKS])
def test_what_is_taken_out_stands_there_once_and_the_page_names_its_test(broken: Break) -> None:
    assert stands_once(broken), f"{broken.file} reads differently now"
    assert broken.test in rows()[broken.what.partition(":")[0]]


@pytest.mark.slow
@pytest.mark.parametrize("broken", BREAKS, ids=[each.what for each in BREAKS])
def test_a_defence_that_is_taken_out_fails_its_test(tmp_path: Path, broken: Break) -> None:
    assert is_seen(broken, tmp_path)
