"""Running the Python a model writes, and the tools that code may call.

code_limits     limits and results common to all interpreters
tools           tools that code can call as functions, each call through the pipeline
folder          the folder code works in: files placed in it, and files code has written
monty           Python without the machine: pydantic-monty in a process of its own; which errors restart it
kernel_sockets  relaying a kernel's sockets with a limit on each message
kernel          real Python with all its packages: an IPython kernel in a sandbox
interpreter     the tool that runs Python the model writes, and what the model reads of it (restarts, files)
"""
