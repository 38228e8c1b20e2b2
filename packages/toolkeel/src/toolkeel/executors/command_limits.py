"""Resource limits of a command: memory, time, files, processes.

Kernel limits are set by a shell before the command (bubblewrap) or by the supervisor (`supervise`). The
memory of all its processes together is watched (`process_tree`), and a control group limits root's
processes (`cgroup_pids`).
"""

from __future__ import annotations

from collections.abc import Mapping

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import record


@checked
@record
class Limits:
    """Resource limits of a command and each process it starts. All have defaults; None lifts one.

    Args:
        cpu: Processor time of one process, in seconds.
        memory: Memory of one process that it may write to, in bytes.
        total_memory: Memory of all its processes together, in bytes; checked four times a second
            while `Sandbox.run` waits.
        file_size: Size of a file it writes, in bytes.
        processes: Processes and threads at once; for root by a control group.
        open_files: Open files of one process.
        tmp_size: Size of the folder for temporary files, in bytes; only with bubblewrap.
    """

    cpu: int | None = 3600
    memory: int | None = 4 << 30
    total_memory: int | None = 8 << 30
    file_size: int | None = 2 << 30
    processes: int | None = 512
    open_files: int | None = 4096
    tmp_size: int = 1 << 30

    def to_rlimits(self) -> dict[str, int]:
        """Map names of `resource` to the kernel's limits, none above the hard limit of this process.

        Limits that are None, or that this system lacks, are left out. Core dumps are always off.
        """
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


def make_ulimit_argv(limits: Mapping[str, int]) -> list[str]:
    """Return the argv of a shell that sets limits and executes the command after it, or exits with 125.

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
