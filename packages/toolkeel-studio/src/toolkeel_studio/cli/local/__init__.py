"""``toolkeel local``: a model server on this machine, from a file of weights.

weights         the file of weights that a name on the command line means
running_server  the server that runs now, and where other commands find it
command         the command: starts the server, reports while it loads, ends it
"""
