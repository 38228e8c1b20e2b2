"""Measure everything side by side and write the page: ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.ours_alone import ALONE
from benchmarks.peer import PEERS
from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).parent.parent
TIMEOUT = 600


def main() -> None:
    """Measure, and write the page unless told otherwise."""
    options = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    everything = [*WORKLOADS, *ALONE]
    options.add_argument(
        "-w", "--workloads", default=",".join(everything), help="default: %(default)s"
    )
    options.add_argument("-p", "--peers", default=",".join(PEERS), help="default: %(default)s")
    options.add_argument("-r", "--rounds", type=int, default=3, help="default: %(default)s")
    options.add_argument("-o", "--out", type=Path, help="the page's folder; default: print numbers")
    given = options.parse_args()
    measured = measure(given.workloads.split(","), given.peers.split(","), given.rounds)
    if given.out is None:
        print(json.dumps(measured, indent=1))
        return
    from benchmarks import page  # it needs what only draws

    page.write(measured, given.out)


def measure(workloads: list[str], peers: list[str], rounds: int) -> dict[str, Any]:
    """The least over rounds; within a round all peers take turns, so that a slow minute hits all.

    Returns:
        ``numbers[workload][peer][name]``, and ``versions[package]``.
    """
    numbers: dict[str, Any] = {}
    versions: dict[str, str] = {}
    for workload in workloads:
        found: dict[str, list[dict[str, float]]] = {}
        for number in range(rounds):
            for peer in ["toolkeel"] if workload in ALONE else peers:
                answer = one(workload, peer)
                print(
                    workload,
                    number + 1,
                    peer,
                    answer.get("missing", ""),
                    file=sys.stderr,
                    flush=True,
                )
                if "numbers" in answer:
                    found.setdefault(peer, []).append(answer["numbers"])
                    versions |= answer["versions"]
        numbers[workload] = {peer: _least(rows) for peer, rows in found.items()}
    return {"numbers": numbers, "versions": versions}


def _least(rows: list[dict[str, float]]) -> dict[str, float]:
    return {name: min(row[name] for row in rows if name in row) for name in rows[0]}


def one(workload: str, peer: str) -> dict[str, Any]:
    """One workload of one peer in a fresh process."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.worker", workload, peer]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=True
        )
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"missing": f"not done in {TIMEOUT} s"}
    except subprocess.CalledProcessError as error:
        return {"missing": (error.stderr.strip().splitlines() or ["it failed"])[-1]}
    return answer


main()
