"""What every command shares at a terminal: streams, texts, keys, questions.

text         text for a terminal: escaped, shortened, and of known width
streams      the two streams of a command: answers on stdout, everything about them on stderr
standard_streams  the streams of the process when one is closed, full, or has no reader
two_columns  two sessions on a screen, in two columns or one below the other
markdown     Markdown on a terminal, block by block
interrupt    Ctrl-C: the first stops the calls and lets the run end, the second ends it
progress     progress of a run on stderr: plain lines, or live lines
pictures     pictures of tools and models: their paths, and drawn where the terminal can
reply        the model's reply, written as it arrives
keyboard     answers to a question: single keys and lines, never typed ahead
terminal_keys  keys of a terminal of POSIX
console_keys   keys of a console of Windows
keys         keys of this process: those of a terminal or of a console
approve      the question before a call runs, at the terminal, and the keys that answer it
consent      consent at the terminal before a server from a file is started
"""
