"""The checks of ``toolkeel doctor``, one section a file.

section  a section of checks
extras   which extras are installed, by the distributions' own declaration
keys     which vendors' keys the environment has; their values are never shown
models   models on this machine, running or not, and which one ``auto`` picks
python   the versions of Python and toolkeel
sandbox  what this machine has to confine commands with; each is tried for real
"""
