"""The command line, one file a command.

exit_codes      exit codes as numbers, and usage mistakes as exceptions (which end of a run has which: commands/launch)
arguments       which value ``key=value`` is: text, JSON, a file, stdin, by the tool's schema
history_option  ``--history``: the policy that ``turns:10`` or ``tokens:N`` names
suspended_run   a suspended run as a file that can be resumed once
decision_options  the options that decide calls which wait
terminal        input and output at the terminal: text, keys, progress, approvals, Ctrl-C
doctor          the checks of ``toolkeel doctor``, one file each
commands        the commands, one file each
local           ``toolkeel local``: a model server on this machine
chat            ``toolkeel chat``: a conversation in the terminal
acp_command     ``toolkeel acp``: an agent for editors
front_ends      ``toolkeel serve --as``: an agent for front ends
http_workers    several server processes at one address, replaced without a lost call
runs            ``toolkeel runs``: list, show, decide, cancel, retry, export and delete durable runs
skills          ``toolkeel skills``: list and check Agent Skills
worker          ``toolkeel worker``: run the queue of a durable agent
eval_command    ``toolkeel eval``: does a model call these tools right?
eval_tables     the tables of ``toolkeel eval``
call_words      what may follow ``toolkeel call``: tools, arguments and values
completion      ``toolkeel completion``: completion scripts for shells
start           ``toolkeel`` without a command: what to do next
main            the entry point, and exit codes
"""
