"""Running the Python a model writes, and the tools that code may call.

code_limits     what every way of running code has in common: its limits, and what comes of a run
tools           tools that code may call as functions, each call through the whole pipeline
folder          the folder that code works in: files go in, and what code has written comes out
monty           Python without the machine: pydantic-monty, a Python of its own in a process of its own
kernel_sockets  sockets of a kernel, passed on with a bound on each message
kernel          real Python with all its packages: an IPython kernel that never runs outside a sandbox
interpreter     a tool that runs Python the model writes: computing, files, plots, and calls of other tools
"""
