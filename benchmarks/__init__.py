"""What toolkeel costs, beside its peers and beside the least Python can do.

``make bench`` installs the peers into an environment of their own and writes ``docs/project/performance.md``.
By hand: ``python -m benchmarks --help``.
"""
