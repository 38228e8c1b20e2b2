"""``toolkeel chat``: talk with a model in the terminal, in a session.

print_above_prompt  output while a prompt is open: printed above it
attach              files that a message names as ``@path``
complete            what Tab completes: commands, skills, sessions, files
steering            a prompt that stays open while a run works: which lines reach it now, and which wait for its end
repl                reads lines and runs slash commands (REPL)
"""
