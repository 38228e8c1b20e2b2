"""What every chapter uses and few readers need: frozen records, redaction, JSON, journal entries.

record             frozen records (dataclasses) that cost no more to make than ordinary objects
record_json        records as JSON and back (serialization), each field by its annotation
redact             known secrets taken out of any value (events: call/arguments/mask)
tickets            approvals: what a person is asked before a call runs, and what they may answer (Edit: what was changed in a call)
public_addresses   the table of network addresses that are not public
cancel             the cancel token: a wish to stop, which any thread may give
needs_extra        around the imports of optional packages: where they fail, the install line is told (extras)
peers_words        other libraries' words for an option: refused with the right name
checked_arguments  constructors that check the kinds of their arguments
messages_json      messages as JSON and back (serialization): saved runs, journals, exports; ``data:`` URLs as bytes
entries            the entries of a run's journal: what happened, as small frozen records
entries_json       entries of a journal as JSON and back
recorder           turns what a run does into entries of its journal
reporter           what a running call reports: progress, and the values it emits
unread_events      events that wait for a slow reader of a stream (back-pressure)
kept_results       results too long to be shown, kept whole under a name that tools read by line and column
taint_sources      what a run has touched (taint): private data, strangers' text, secrets, each with its sources
path_patterns      which paths fall under patterns of names, and which hold secrets
data_folder        where data is kept if nobody says: the user's data folder
used_tickets       which tickets were decided, noted in a folder that processes share: none serves twice
"""
