"""Commands a model runs.

escape_codes  what a terminal would show of a command's output: no escape sequences
output_tail   a command's long output, cut to its end; all of it is kept in a file
git_identity  the person's name and address for commits that a model makes in a sandbox
command       running a shell command for a model: live output, bounded text, nothing left behind
local_shell   the shell tools of OpenAI's models, run here, on any model
"""
