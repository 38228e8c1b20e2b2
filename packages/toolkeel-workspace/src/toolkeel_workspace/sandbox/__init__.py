"""Commands that see and change no more of the machine than they were given.

protected_files  files whose change would widen what an agent may do, or run code behind its user's back
secret_files     which files with secrets a command has read, by its words and by what it has said
mounts           what a confined command may see and change of the machine's files
seccomp          a filter of system calls for commands in a sandbox, as the kernel's BPF program
stage            put together what a command sees, in front of the program that walls it in
bubblewrap       commands in namespaces of their own, made by bubblewrap, behind a filter of system calls
landlock         commands confined by Landlock, where there are no namespaces to be had
start_stage      the stage before bubblewrap: whether this machine permits one, and the words that start it
network_gate     the one way out of a sandbox with a network: a proxy outside, which listens inside
isolated_decode       strangers' files (pictures, PDF) decoded in a confined process
decode_resize_worker  the process that decodes one of them, makes pictures smaller, takes text out of PDFs
reachable_hosts  which hosts may be reached: public ones, and those that are listed
proxy            a proxy that lets out only to what may be reached: the gate of browsers and commands
executor         the executor that ``executor="sandbox"`` names
confine          commands that see and change no more of the machine than they were given
escape_attempts  attempts to get out, made by a program inside
escape_probe     a probe of a sandbox for escapes known by name
"""
