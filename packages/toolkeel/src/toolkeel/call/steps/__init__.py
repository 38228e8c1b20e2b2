"""Steps around a body, composed when the tool is registered.

compose             steps around a call, composed when a tool is registered, not when it is called
shell_parser        whether a line of shell may run commands that its words do not show
shell_reader        a line of shell, split into its commands
command_patterns    which lines of shell a rule's pattern covers, or may be about
rules               rules from outside the tools: the calls they deny, ask about or allow (enforced in `approve`)
ask_approver        asking the run's approver: anything but a clear, timely answer for that call denies
join_approvals      why a tool itself needs approval, and two approvals of one tool as one
approve             denial by rule or person, and what the model reads then; a yes is for the arguments shown
call_limits         limits on calls: number, rate, concurrency, and repeats of a call that fails
resources           what a call touches: places in trees, with the arguments put in
resource_conflicts  the queue for places in trees: a claim waits for each before it that meets it, if one of the two writes
turn_order          the order of a turn's calls, by declared resource: those that touch one thing run in order, all else overlaps (locks)
cache               cached results: opt-in, after approval, never of failures
retry               which failed calls of repeatable tools run again, how often, and after which wait
guard               guards: checks of a call before it runs, and of its result before the model reads it
addresses           addresses in one form: the host as the network compares it, all else byte for byte
mentioned_targets   targets of a call that the user mentioned or a trusted result contains
label_sources       which results are private, a stranger's or secret, and how a run keeps that
taint               information flow: after private data and a stranger's text, calls that go outside need approval
session_permits     approvals that a person extends to a session: one tool within a host, a folder or a command
"""
