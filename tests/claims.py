"""Every sentence that says what did not happen, or ended: the tests that show it said, and not said.

`before` is a test whose fault comes just before the thing, so that the sentence is so and said;
`after` one whose fault comes just after, so that something else must be said. Where nothing can come
between (the sentence is made before anything is tried, or by whoever did it), it says why instead.
`tests/gates/test_claims.py` sees that no such sentence in the source is without its row.
"""

from __future__ import annotations

from typing import NamedTuple

TRUTH = "packages/toolkeel/tests/call/test_truth.py::test_whatever_fails_and_wherever_what_is_said_of_the_body_is_so"
ENDS = "packages/toolkeel/tests/call/test_ends.py::test_what_is_told_of_a_call_that_ended_is_what_became_of_it"
KNOWN = "packages/toolkeel/tests/call/body/test_stop_errors.py::test_what_the_call_knows_of_its_body_is_told_whoever_stopped_it"
NEVER = "packages/toolkeel/tests/call/body/test_stop_errors.py::test_a_body_that_never_began_has_not_started_whatever_it_waited_for"
FILES = "packages/toolkeel-workspace/tests/files/"
MCP = "packages/toolkeel/tests/mcp/client/"
GATEWAY = "packages/toolkeel-studio/tests/gateway/test_gateway.py::"
UNTRIED = "made before anything is tried"
DOER = "made by whoever did it"


class Claim(NamedTuple):
    """One sentence, or several of one module that are of one kind.

    Args:
        where: The module, below the package.
        words: A piece of each, as in the source.
        before: The test that shows it said.
        after: The test that shows what is said instead; or why nothing can come between.
    """

    where: str
    words: str
    before: str
    after: str


_GUARD = "packages/toolkeel/tests/call/steps/test_guard.py::"
_APPROVE = "packages/toolkeel/tests/call/steps/test_approve.py::"
_LOCK = "packages/toolkeel/tests/call/steps/test_turn_order.py::"
_RAY = "packages/toolkeel-studio/tests/ray/test_executor.py::test_"
_LIMIT = "packages/toolkeel/tests/call/steps/test_call_limits.py::"
_COMMAND = f"{FILES}test_workspace.py::test_a_death_by_signal_and_a_timeout_are_failures"
_OUTCOME = f"{MCP}test_outcome.py::test_no_more_is_said_of_a_call_than_is_known"
_LATER = f"{MCP}test_outcome.py::test_what_was_not_sent_of_a_later_round_says_nothing_of_the_first"
_BOUNDED = "packages/toolkeel/tests/agent/turn/test_request_budget.py::test_calls_and_failures_of_a_tool_are_bounded_at_every_depth"
_LOST = f"{MCP}test_http.py::test_a_call_whose_connection_breaks_has_an_unknown_outcome_and_is_not_sent_again"

CLAIMS: tuple[Claim, ...] = (
    # — the call —
    Claim("call/arguments/model_validators.py", "was refused: a check of its arguments",
          "packages/toolkeel/tests/call/arguments/test_model_validators.py::test_arguments_that_a_validator_made_invalid_are_the_tools_fault", UNTRIED),
    Claim("call/arguments/validate.py", "so it did not run", ENDS, TRUTH),
    Claim("call/arguments/validate.py", "only a part of what was sent",
          "packages/toolkeel/tests/call/arguments/test_partial.py::test_a_preview_in_the_place_of_arguments_is_never_run", UNTRIED),
    Claim("call/batch.py", "the person said something instead",
          "packages/toolkeel/tests/agent/test_run.py::test_what_is_said_instead_skips_the_calls_that_have_not_begun",
          "packages/toolkeel/tests/agent/test_run.py::test_what_is_said_comes_after_the_current_calls_and_what_is_queued_at_the_end"),
    Claim("call/body/stop_errors.py", "It has not started", NEVER, TRUTH),
    Claim("call/body/stop_errors.py", "free thread and has not started", NEVER, TRUTH),
    Claim("call/body/stop_errors.py", "was not started, because", ENDS, TRUTH),
    Claim("call/body/stop_errors.py", "was stopped; what it had", ENDS, TRUTH),
    Claim("call/body/stop_errors.py", "was done by then", KNOWN, TRUTH),
    Claim("call/body/stop_errors.py", "may still take effect", ENDS, KNOWN),
    Claim("call/failure_message.py", "may have taken effect", ENDS, TRUTH),
    Claim("call/steps/approve.py", "a step changed its arguments after",
          f"{_APPROVE}test_a_step_after_the_approval_cannot_change_what_runs", UNTRIED),
    Claim("call/steps/approve.py", "a person edited its arguments",
          f"{_APPROVE}test_edited_arguments_that_are_not_valid_do_not_run_and_are_not_the_models_fault", TRUTH),
    Claim("call/steps/approve.py", "was not approved", ENDS, TRUTH),
    Claim("call/steps/resource_conflicts.py", "Neither could ever go on",
          f"{_LOCK}test_two_calls_whose_bodies_want_what_the_other_holds_do_not_wait_for_ever", UNTRIED),
    Claim("call/steps/compose.py", "its checks keep changing",
          f"{_GUARD}test_guards_that_answer_each_others_changes_settle_or_refuse", UNTRIED),
    Claim("call/steps/guard.py", "was refused", ENDS,
          f"{_GUARD}test_a_withheld_result_says_whether_there_was_one"),
    Claim("call/steps/guard.py", ", and the run was ended.", ENDS,
          f"{_GUARD}test_a_guard_that_ends_the_run_raises_after_every_call_has_its_result"),
    Claim("call/steps/guard.py", "did not run;",
          f"{_GUARD}test_a_withheld_result_says_whether_there_was_one",
          f"{_GUARD}test_a_withheld_result_says_whether_there_was_one"),
    Claim("call/steps/guard.py", "was run, but",
          f"{_GUARD}test_a_withheld_result_says_whether_there_was_one", TRUTH),
    Claim("call/steps/call_limits.py", "calls are used up", ENDS, TRUTH),
    Claim("call/steps/call_limits.py", "so it was not run again", ENDS,
          f"{_LIMIT}test_other_arguments_other_runs_and_successes_count_for_themselves"),
    Claim("call/steps/turn_order.py", "has said it only reads",
          f"{_LOCK}test_what_a_reading_body_calls_may_not_write_what_the_body_reads", UNTRIED),
    Claim("call/steps/turn_order.py", "had waited for its resource",
          f"{_LOCK}test_a_guard_that_wants_other_arguments_after_the_wait_refuses_the_call", TRUTH),
    Claim("call/steps/turn_order.py", "that one waits for a person",
          f"{_LOCK}test_what_follows_a_call_that_waits_for_a_person_is_not_told_it_had_happened", UNTRIED),
    Claim("define/explain/validation_errors.py", "invalid, and it did not run", ENDS, TRUTH),
    Claim("spending.py", "did not run: it may be called", _BOUNDED,
          "packages/toolkeel/tests/test_spending.py::test_calls_and_failures_of_a_tool_are_counted_over_the_tree"),
    Claim("spending.py", "did not run: its calls have failed", _BOUNDED,
          "packages/toolkeel/tests/test_spending.py::test_calls_and_failures_of_a_tool_are_counted_over_the_tree"),
    # — the agent —
    Claim("agent/handoff.py", "nothing was done",
          "packages/toolkeel/tests/agent/test_handoff.py::test_code_and_bare_toolsets_cannot_hand_a_run_over", UNTRIED),
    Claim("agent/handoff.py", "this was not done",
          "packages/toolkeel/tests/agent/test_handoff.py::test_what_is_called_before_a_handoff_runs_first_and_a_second_handoff_is_not_done", UNTRIED),
    Claim("call/steps/join_approvals.py", "was not decided",
          "packages/toolkeel/tests/call/body/test_callback.py::test_a_predicate_that_takes_too_long_refuses_its_call", UNTRIED),
    Claim("call/enclosing_run.py", "was not asked",
          "packages/toolkeel/tests/agent/test_inner_agent.py::test_agents_that_call_each_other_are_stopped_at_a_depth", UNTRIED),
    Claim("agent/bind_tools.py", "was not asked",
          "packages/toolkeel/tests/agent/test_bind_tools.py::test_at_the_bound_a_request_of_a_body_is_not_sent_and_the_run_ends_there", UNTRIED),
    Claim("agent/resume.py", "othing was used up",
          "packages/toolkeel/tests/agent/test_resume.py::test_a_tool_that_is_gone_or_has_changed_is_refused_before_anything_is_used_up",
          "packages/toolkeel/tests/agent/test_resume.py::test_what_let_the_call_through_is_not_asked_again"),
    # — other processes —
    Claim("executors/worker_request.py", "if it took effect: check before",
          ENDS, "packages/toolkeel/tests/executors/test_warm_pool.py::test_a_call_whose_process_died_runs_again_only_if_it_may"),
    Claim("executors/worker_request.py", "and was ended", "packages/toolkeel/tests/executors/test_worker_request.py::test_faults_of_the_program_are_not_told_as_failures_of_the_call", DOER),
    Claim("executors/process.py", "was killed by", "packages/toolkeel/tests/executors/test_process.py::test_failures_are_told_as_those_of_bodies_here", DOER),
    Claim("executors/warm_pool.py", "and has not started. Try again",
          "packages/toolkeel/tests/executors/test_warm_pool.py::test_a_call_that_finds_no_room_in_time_is_refused_and_never_starts",
          "packages/toolkeel/tests/executors/test_warm_pool.py::test_room_that_was_given_up_goes_to_the_next_whatever_the_moment"),
    Claim("toolkeel_studio/ray/executor.py", "has not started: no node", f"{_RAY}what_no_node_has_is_refused_at_once", UNTRIED),
    Claim("toolkeel_studio/ray/executor.py", "was ended, since it began too late",
          f"{_RAY}what_is_said_not_to_have_started_left_no_trace_whatever_the_moment", DOER),
    Claim("toolkeel_studio/ray/node.py", "was ended at its deadline",
          "packages/toolkeel-studio/tests/ray/test_node.py::test_a_body_that_nobody_ended_in_time_is_ended_by_the_node", DOER),
    # — servers —
    Claim("mcp/client/outcome.py", "is not known: look before", _OUTCOME, _LATER),
    Claim("mcp/client/outcome.py", "may still take effect", _OUTCOME,
          f"{MCP}test_mcp_server.py::test_a_cancelled_call_may_go_on_in_its_server"),
    Claim("mcp/client/outcome.py", "The call was not sent", _OUTCOME, _LATER),
    Claim("mcp/client/outcome.py", "refused the call", _OUTCOME,
          f"{MCP}test_outcome.py::test_a_code_in_the_mouth_of_a_peer_means_that_it_answered"),
    Claim("mcp/client/mcp_server.py", "The call was not sent",
          f"{MCP}test_http.py::test_the_new_revision_works_over_http_and_survives_a_restart", _LOST),
    Claim("mcp/client/mcp_server.py", "so the call was not sent",
          f"{MCP}test_mcp_server.py::test_a_server_that_cannot_be_asked_what_its_tool_is_now_was_sent_nothing", _LOST),
    Claim("mcp/client/http.py", "refused the request",
          f"{MCP}test_http.py::test_a_refusal_is_told_with_its_status_and_a_broken_way_is_none",
          f"{MCP}test_http.py::test_an_answer_that_says_nothing_of_the_call_leaves_its_outcome_unknown"),
    Claim("mcp/client/oauth/service_login.py", "was refused", f"{MCP}oauth/test_service_login.py::test_a_program_that_is_refused_is_told_by_whom_and_why", DOER),
    Claim("mcp/client/oauth/login.py", "was refused", f"{MCP}oauth/test_login.py::test_a_login_the_person_refuses_is_told", DOER),
    Claim("mcp/client/sampling_and_roots.py", "was refused", f"{MCP}test_sampling_and_roots.py::test_a_question_may_be_refused", DOER),
    Claim("mcp/client/elicitation.py", "not sent yet",
          f"{MCP}test_elicitation.py::test_what_does_not_fit_the_form_is_never_sent", UNTRIED),
    Claim("mcp/client/tool.py", "while the call was waiting; ",
          f"{MCP}test_tool.py::test_a_definition_that_changes_while_somebody_is_asked_is_not_run", UNTRIED),
    Claim("toolkeel_studio/gateway/calls.py", "does not allow this call",
          f"{GATEWAY}test_rules_refuse_ask_and_count_before_anything_is_sent", UNTRIED),
    Claim("toolkeel_studio/gateway/calls.py", "so the call was not sent",
          f"{GATEWAY}test_a_changed_definition_is_not_called_until_a_person_has_seen_it", UNTRIED),
    Claim("toolkeel_studio/gateway/calls.py", "The call was not approved",
          f"{GATEWAY}test_a_host_that_cannot_ask_is_told_how_to_allow_a_call", UNTRIED),
    Claim("toolkeel_studio/gateway/calls.py", "It was not sent and did not run",
          f"{GATEWAY}test_rules_refuse_ask_and_count_before_anything_is_sent", UNTRIED),
    Claim("toolkeel_studio/gateway/calls.py", "The call was not sent.",
          "packages/toolkeel-studio/tests/gateway/test_calls.py::test_what_is_not_sent_of_a_later_round_stays_done_before_it",
          "packages/toolkeel-studio/tests/gateway/test_calls.py::test_what_is_not_sent_of_a_later_round_stays_done_before_it"),
    Claim("toolkeel_studio/gateway/ledger.py", "this one was not sent",
          "packages/toolkeel-studio/tests/gateway/test_ledger.py::test_a_call_that_cannot_be_counted_is_refused", UNTRIED),
    Claim("toolkeel_studio/gateway/routes.py", "while the call waited, so it was not sent",
          f"{GATEWAY}test_what_changed_or_went_while_a_person_was_asked_is_not_called", UNTRIED),
    Claim("toolkeel_compat/openapi/tools.py", "is not known: look before",
          "packages/toolkeel-compat/tests/openapi/test_tools.py::test_a_request_that_writes_and_has_no_answer_may_have_taken_effect",
          "packages/toolkeel-compat/tests/openapi/test_tools.py::test_a_service_that_is_not_there_is_told_without_its_address"),
    # — the built-in tools —
    Claim("toolkeel_workspace/code/monty.py", "it was ended", "packages/toolkeel-workspace/tests/code/test_monty.py::test_a_short_sleep_is_slept_and_a_long_one_ends_the_code", DOER),
    Claim("builtin/hosted_mcp.py", "was not approved",
          "packages/toolkeel/tests/builtin/test_hosted_mcp.py::test_here_nobody_is_asked_about_a_trusted_tool_alone", UNTRIED),
    Claim("toolkeel_workspace/computer/tool.py", "was not approved",
          "packages/toolkeel-workspace/tests/computer/test_tool.py::test_a_function_can_answer_warnings_and_only_true_means_yes", UNTRIED),
    Claim("toolkeel_workspace/files/apply_patch.py", "was not deleted", f"{FILES}test_apply_patch.py::test_what_cannot_be_deleted_is_still_there",
          f"{FILES}test_apply_patch.py::test_a_file_is_made_changed_and_deleted"),
    Claim("toolkeel_workspace/files/atomic_replace.py", "special file, which is not written to",
          f"{FILES}test_atomic_replace.py::test_special_files_are_not_written", UNTRIED),
    Claim("toolkeel_workspace/files/atomic_replace.py", "is not written to: it has",
          f"{FILES}test_atomic_replace.py::test_a_file_with_a_second_name_is_not_written", UNTRIED),
    Claim("toolkeel_workspace/files/atomic_replace.py", "was not written",
          f"{FILES}test_atomic_replace.py::test_a_full_disk_leaves_the_old_content_and_no_rest",
          f"{FILES}test_atomic_replace.py::test_what_was_renamed_is_written_even_if_the_folder_cannot_be_flushed"),
    Claim("toolkeel_workspace/files/atomic_replace.py", "was changed since it was read",
          f"{FILES}test_atomic_replace.py::test_a_change_between_reading_and_replacing_is_noticed",
          f"{FILES}test_atomic_replace.py::test_of_many_that_replace_what_they_read_at_once_one_succeeds"),
    Claim("toolkeel_workspace/files/changed_since_read.py", "so it was not changed",
          f"{FILES}test_content_changes.py::test_read_first_refuses_only_what_exists_and_was_not_read", UNTRIED),
    Claim("toolkeel_workspace/files/encodings.py", "Nothing was changed",
          f"{FILES}test_encodings.py::test_a_new_character_is_written_right_or_not_at_all", UNTRIED),
    Claim("toolkeel_workspace/shell/command.py", "could not be started",
          "packages/toolkeel-workspace/tests/shell/test_command.py::test_only_what_never_began_could_not_be_started",
          "packages/toolkeel-workspace/tests/shell/test_command.py::test_only_what_never_began_could_not_be_started"),
    Claim("toolkeel_workspace/shell/command.py", "it and all it started were killed", _COMMAND, DOER),
    Claim("toolkeel_workspace/shell/persistent.py", "so the command was not run",
          "packages/toolkeel-workspace/tests/shell/test_persistent.py::test_a_command_whose_folder_is_gone_is_not_run", DOER),
    Claim("toolkeel_workspace/shell/persistent.py", "it was killed, or ended",
          "packages/toolkeel-workspace/tests/shell/test_persistent.py::test_a_shell_that_ends_otherwise_loses_what_this_command_changed_and_says_so", DOER),
    Claim("toolkeel_workspace/shell/command.py", "Command was killed by", _COMMAND, DOER),
    Claim("toolkeel_workspace/shell/command.py", "Command was killed: its processes",
          "packages/toolkeel-workspace/tests/shell/test_command.py::test_why_a_command_failed_is_told_by_who_ended_it", DOER),
    Claim("toolkeel_workspace/shell/protected_changes.py", "they are renamed",
          "packages/toolkeel-workspace/tests/shell/test_protected_changes.py::test_a_protected_file_that_is_made_is_an_event_and_a_question", DOER),
    Claim("toolkeel_workspace/shell/protected_changes.py", "Shall they stay? If not",
          "packages/toolkeel-workspace/tests/shell/test_protected_changes.py::test_a_protected_file_that_is_made_is_an_event_and_a_question", UNTRIED),
    Claim("toolkeel_workspace/shell/command.py", "Command was killed after", f"{FILES}test_workspace.py::test_a_flood_without_end_is_ended_and_told", DOER),
    Claim("toolkeel_workspace/web/client.py", "it was stopped",
          "packages/toolkeel-workspace/tests/web/test_client.py::test_a_server_that_drips_ends_at_the_deadline", DOER),
    Claim("toolkeel_workspace/web/bounded_decompression.py", "was refused", "packages/toolkeel-workspace/tests/web/test_bounded_decompression.py::test_a_bomb_is_refused_after_little_of_it", DOER),
    Claim("toolkeel_workspace/web/search_backends.py", "refused the search",
          "packages/toolkeel-workspace/tests/web/test_search_backends.py::test_what_goes_wrong_is_told_without_the_key", "only reads"),
    Claim("toolkeel_compat/langchain/ready/retries.py", "and the run was ended",
          "packages/toolkeel-compat/tests/langchain/ready/test_retries.py::test_a_tool_that_raised_is_run_again", DOER),
    Claim("toolkeel_compat/pydantic_ai/output/validators.py", "and the run was ended",
          "packages/toolkeel-compat/tests/pydantic_ai/output/test_functions.py::test_another_exception_ends_the_run", DOER),
    Claim("toolkeel_compat/langchain/tool_node.py", "and the run was ended", "packages/toolkeel-compat/tests/langchain/test_tool_node.py::test_an_error_that_is_not_handled_is_raised", DOER),
    Claim("toolkeel_compat/openai_agents/tools.py", "and the run was ended", "packages/toolkeel-compat/tests/openai_agents/test_tools.py::test_a_tool_told_to_raise_ends_the_run_with_what_the_body_raised", DOER),
    Claim("toolkeel_compat/pydantic_ai/toolsets.py", "and the run was ended",
          "packages/toolkeel-compat/tests/pydantic_ai/test_toolsets.py::test_an_exception_of_a_tool_ends_the_run", DOER),
    Claim("toolkeel_compat/pydantic_ai/toolsets.py", "was not approved",
          "packages/toolkeel-compat/tests/pydantic_ai/test_deferred.py::test_a_run_goes_on_with_decisions", DOER),
    Claim("toolkeel_compat/langchain/threads/human_review.py", "was not approved",
          "packages/toolkeel-compat/tests/langchain/threads/test_human_review.py::test_a_call_waits_in_its_thread_until_somebody_decides", UNTRIED),
    Claim("toolkeel_compat/openai_agents/", "was not approved",
          "packages/toolkeel-compat/tests/openai_agents/test_state.py::test_a_rejection_without_words_is_told_as_the_sdk_tells_it_and_nothing_runs", UNTRIED),
    # — sessions —
    Claim("sessions/stores/sql_queries.py", "somebody else has written",
          "packages/toolkeel/tests/sessions/stores/test_store.py::test_a_batch_that_does_not_follow_the_last_entry_leaves_nothing", DOER),
    Claim("sessions/stores/sqlite.py", "somebody else has written",
          "packages/toolkeel/tests/sessions/test_journal.py::test_a_writer_that_was_frozen_cannot_write_between_anothers_entries", DOER),
)  # fmt: skip
