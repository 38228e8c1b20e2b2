"""``toolkeel local``: a model server on this machine, from a file of weights.

weights         the file of weights that a word on the command line means
running_server  the server that runs now, as other commands find it
command         the command: starts the server, reports while it loads, ends it
"""
