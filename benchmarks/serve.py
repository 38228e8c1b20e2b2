"""A peer's server over stdin and stdout: ``python -m benchmarks.serve benchmarks.peers.ours``."""

from __future__ import annotations

import sys
from importlib import import_module

from benchmarks import work

if __name__ == "__main__":
    import_module(sys.argv[1]).PEER.serve(work.rate)
