"""Commands a model runs.

escape_codes  output without escape sequences, as a terminal would show it
output_tail   long output: its end is shown (limits: files/line_window), all of it is in a file
git_identity  the person's name and address for commits made in a sandbox
command       running a shell command: timeout, live output, when it counts as failed, no processes left
prompts       when a silent program is taken to ask for input
lifetime      how long background commands and a persistent shell last
background    commands that run on between calls: how many, how long, and when they end
job_tool      the tool ``job``: look at a background command, send input, wait, stop
persistent    a shell whose folder, variables and functions last from command to command
protected_changes  protected files that a command made or changed: an event and a question
bash_tool     the tools bash and job of a workspace
local_shell   the shell tools of OpenAI's models, run here, with any model
"""
