"""Commands a model runs.

escape_codes  output without escape sequences, as a terminal would show it
output_tail   long output: its end in memory, all of it in a file
git_identity  the person's name and address for commits made in a sandbox
command       running a shell command: live output, limited text, no processes left
prompts       detecting that a program asks for input
lifetime      how long background commands and a persistent shell last
background    commands that run on between calls
job_tool      what a model does with a command in the background
persistent    a shell whose folder, variables and functions last from command to command
protected_changes  protected files that a command made or changed: an event and a question
bash_tool     the tools bash and job of a workspace
local_shell   the shell tools of OpenAI's models, run here, with any model
"""
