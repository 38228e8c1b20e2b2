"""Commands a model runs.

escape_codes  output without escape sequences, as a terminal would show it
output_tail   long output: its end in memory, all of it in a file
git_identity  the person's name and address for commits made in a sandbox
command       running a shell command: live output, limited text, no processes left
local_shell   the shell tools of OpenAI's models, run here, with any model
"""
