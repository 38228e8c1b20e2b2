"""What toolwright costs, beside the least a Python library can do. `make bench` runs it."""
