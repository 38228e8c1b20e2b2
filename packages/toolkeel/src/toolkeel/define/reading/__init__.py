"""What the author wrote: docstring, signature, annotations, parameters.

docstring    docstrings in the Google, NumPy and Sphinx styles, read tolerantly
signature    reading a callable: its name, its parameters, how its body runs
hints        the function inside a callable, and its type hints, resolved to classes
annotations  annotations as pydantic takes them on every Python version, and checks them entire
parameter    one parameter as pydantic sees it, and what stays from pydantic (default, description)
"""
