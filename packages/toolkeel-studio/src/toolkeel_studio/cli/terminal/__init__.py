"""What every command shares at a terminal: streams, texts, keys, questions.

text         how the command line words things: safe for a terminal, short, and of known width
streams      the two streams of a command: answers on stdout, everything about them on stderr
two_columns  two sessions on a screen, in two columns or one under the other
markdown     Markdown on a terminal, line by line
interrupt    ctrl-C: the first stops the calls and lets the run end by itself, the second ends it
progress     what a person sees of a run while it runs, on stderr: plain lines, or lines that live
pictures     pictures of tools and models: their paths, and drawn where the terminal can
reply        what a model says, written as it comes
keys         what a person types at a question: single keys and lines, never what was typed before it
approve      asking a person at the terminal before a call runs
consent      asking at the terminal before a server is started that a file names
"""
