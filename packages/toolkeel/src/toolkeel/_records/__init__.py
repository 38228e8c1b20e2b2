"""What is written down: frozen records, their JSON, and the records that outlive a call or a run.

record         frozen records (dataclasses) that cost no more to make than ordinary objects
deferred       records that are made at their first use
record_json    records as JSON and back (serialization), each field by its annotation
stored_types   types that have a stored form besides JSON: the standard library's, and a program's own classes
typed_values   values of a program as JSON and back (serialization), with their types: state, artifacts
reply_sources  what a reply cites, in one form for every wire
source_data    a source from what a provider says of it; marks of sources in a text
messages_json  messages as JSON and back (serialization): saved runs, journals, exports; ``data:`` URLs as bytes
tickets        approvals: what a person is asked before a call runs, and what they may answer (Edit: what was changed in a call)
used_tickets   which tickets were decided, in a folder that processes share, so that none serves twice
entries        the entries of a run's journal: what happened, as small frozen records
run_counts     what a run has spent according to its entries: usage, cost, calls, failures
journal        where a run writes its entries, as a recorder needs it
entries_json   entries of a journal as JSON and back
state_changes  changes of a run's state since it was last recorded, and undoing those that cannot be saved
tool_definitions  definitions of tools as the journal records them
recorder       turns what a run does into entries of its journal
result_pins    results that stay in view when a history policy leaves out their turn
result_store   results too long to be shown, stored under a name that tools read by line and column
taint_sources  what a run has touched (taint): private data, strangers' text, secrets, each with its sources
"""
