"""``toolkeel chat``: talk with a model in the terminal, in a session.

command  the way in, and what slash commands do
"""
