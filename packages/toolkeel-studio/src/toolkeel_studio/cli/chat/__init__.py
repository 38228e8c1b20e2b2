"""``toolkeel chat``: talk with a model in the terminal, in a session.

print_above_prompt  what is printed while a prompt is open: above it
steering            a prompt while a run works: what is typed there is said to it
repl                reads what is typed (REPL), and what slash commands do
"""
