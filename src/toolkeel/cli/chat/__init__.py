"""``toolkeel chat``: talk with a model in the terminal, in a session.

steering  lines typed while a run works, said to it
repl      reads what is typed (REPL), and what slash commands do
"""
