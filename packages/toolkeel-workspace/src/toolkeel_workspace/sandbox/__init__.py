"""Commands confined to the files and the network they are allowed.

protected_files  which files could give an agent more rights, or run code later, if they changed
secret_files     detecting that a command has read files with secrets
mounts           the paths a confined command can read and change
seccomp          the system call filter, as a BPF program
stage            the program that mounts these paths before bubblewrap starts
bubblewrap       options of bubblewrap: commands in namespaces of their own
landlock         rules of Landlock: commands confined without namespaces
start_stage      starting the stage: whether this system allows it, and with which argv
network_gate     the only way out for a sandbox with network: a proxy outside that listens inside
isolated_decode       decode untrusted files (pictures, PDF) in a confined process
decode_resize_worker  the program that decodes one such file
reachable_hosts  which hosts and ports tools may connect to: public ones and listed ones
proxy            a local HTTP proxy that enforces `reachable_hosts` for browsers and commands
executor         the executor named ``sandbox``
confine          the sandbox, and the backends of this machine; how confinement works
escape_attempts  the program that tries to escape, run inside
escape_probe     a test of a sandbox against known escapes

Theory of operation. A sandbox describes what a command may read, write and reach; nothing happens until
`build_command` turns an argv into a `Command`, which holds everything that must exist while the command
runs (descriptors, the proxy's thread, a control group, a home folder) and releases it in `close`.

One of two backends confines a command, each together with a seccomp filter:

*bubblewrap* gives it namespaces of its own. The file system starts empty; system folders, roots and a
private ``/tmp`` are mounted into it, protected files once more on top, read-only. It sees only its own
processes. The network is empty, or has one port, behind which a proxy of ours checks hosts. A command
that swaps a folder for a link while another command starts must not redirect that one's mounts; so a
*stage* program first opens every path without following links and mounts the handles. As root, the
stage also becomes a user that owns nothing, and mounts the roots with mapped ids.

*Landlock* is for machines without usable namespaces. Our own supervisor (`toolkeel.executors.supervise`) removes rights
from itself, permanently, and executes the command. Landlock cannot hide processes, protect files inside
a writable root, or filter hosts: `Features.notes` lists what stays open, and options that need more
(``network=True``) are refused.

``mode="off"`` runs the command without confinement, under the same limits and with the same end. There
is no silent fallback: each backend is proven by running a command in it (`detect_features`), and without
a working one `Sandbox` raises. Approval by a person is separate.

::

    Sandbox ──build_command──> Command ──start_command──> RunningCommand ──finish_command──> CommandResult
                                  │                             │ exit, timeout, output, memory
                                  └──────close──────────────────┴──> all descendants killed, resources released

    bubblewrap:  [stage.py ──exec──>] bwrap ──exec──> sh (limits) ──exec──> [gate listener ──exec──>] command
    landlock:    supervise.py ──fork──> limits, Landlock, seccomp ──exec──> command
    off:         supervise.py ──fork──> limits ──exec──> command

The end is certain in each backend. bubblewrap's process 1 dies with our process and takes the pid
namespace with it. The supervisor kills all descendants when its lifeline closes, which the kernel does
for us if we die.
"""
