"""The command line, one file a command.

exit_codes     exit codes, and the mistakes that become one of them
arguments      a call's arguments as people type them: ``key=value``
suspended_run  a suspended run as a file that serves once
terminal       what a person sees and answers: text, keys, progress, approval, Ctrl-C
doctor         what ``toolkeel doctor`` looks at, one check a file
commands       the commands, one file each
chat           the command that is a conversation
http_workers   several processes that serve at one address, replaced one by one without a lost call
worker         ``toolkeel worker``: run what is in the queue of a durable agent, until told to end
completion     ``toolkeel completion``: what a shell completes, as a script for it
start          ``toolkeel`` alone: what to do next
main           the way in (`toolkeel`), and the way out with a documented exit code
"""
