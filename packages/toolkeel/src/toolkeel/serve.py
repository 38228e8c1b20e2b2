"""Agents for front ends, over HTTP and other wires: names of toolkeel-studio, when it is installed."""

from toolkeel._lazy_exports import door

__getattr__, __dir__, __all__ = door(__name__, {})
