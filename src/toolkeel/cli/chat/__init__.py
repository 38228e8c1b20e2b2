"""``toolkeel chat``: talk with a model in the terminal, in a session.

repl  reads what is typed (REPL), and what slash commands do
"""
