"""How much a command may use: memory, time, files, processes.

Those of the kernel are set by a shell in front of the command (bubblewrap) or by the supervisor
(`supervise`); the tree of processes is watched for what they use together (`process_tree`), and a
control group counts root's (`cgroup_pids`).
"""

from __future__ import annotations

from collections.abc import Mapping

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import record


@checked
@record
class Limits:
    """What a command, and each process it starts, may use at most; None for no limit.

    Args:
        cpu: Processor time of one process, in seconds.
        memory: Memory of one process, in bytes: what it may write to, not what it reserves.
        total_memory: Memory of all its processes together, in bytes; looked at four times a second
            while `Sandbox.run` waits for it.
        file_size: Size of a file it writes, in bytes.
        processes: Processes and threads at once; root is held to it by a control group.
        open_files: Open files of one process.
        tmp_size: Size of the folder for temporary files, in bytes; bubblewrap alone holds it.
    """

    cpu: int | None = 3600
    memory: int | None = 4 << 30
    total_memory: int | None = 8 << 30
    file_size: int | None = 2 << 30
    processes: int | None = 512
    open_files: int | None = 4096
    tmp_size: int = 1 << 30

    def values(self) -> dict[str, int]:
        """Names of the `resource` module and numbers, none above what this process may set."""
        wanted = {
            "RLIMIT_CPU": self.cpu,
            "RLIMIT_DATA": self.memory,
            "RLIMIT_FSIZE": self.file_size,
            "RLIMIT_NPROC": self.processes,
            "RLIMIT_NOFILE": self.open_files,
            "RLIMIT_CORE": 0,
        }
        import resource  # late: Windows has none, and no command runs there

        found = {}
        for name, value in wanted.items():
            if value is not None and hasattr(resource, name):
                hard = resource.getrlimit(getattr(resource, name))[1]
                found[name] = value if hard == resource.RLIM_INFINITY else min(value, hard)
        return found


def shell_setting(limits: Mapping[str, int]) -> list[str]:
    """The words before a command that set its limits, in a shell that then becomes the command.

    Args:
        limits: Names of `resource` to numbers.
    """
    flags = {
        "RLIMIT_CPU": ("-t", 1),
        "RLIMIT_DATA": ("-d", 1024),
        "RLIMIT_FSIZE": ("-f", 512),
        "RLIMIT_NOFILE": ("-n", 1),
        "RLIMIT_CORE": ("-c", 512),
    }
    lines = []
    for name, value in limits.items():
        if name == "RLIMIT_NPROC":  # the one flag on which shells differ
            lines.append(f"{{ ulimit -u {value} || ulimit -p {value}; }} 2>/dev/null")
        else:
            flag, unit = flags[name]
            lines.append(f"ulimit {flag} {value // unit}")
    script = " && ".join([*lines, 'exec "$@"'])
    return ["/bin/sh", "-c", f"{script} || exit 125", "sh"]
