"""What `toolkeel doctor` looks at, one section a file.

section  what ``toolkeel doctor`` is made of: sections of checks, one section a file
extras   which extras are installed, by what the package itself says that they bring
keys     which vendors' keys are in the environment. What they are is shown to nobody
models   models on this machine, running or not, and which one ``auto`` would take
python   which Python and which toolkeel this is
sandbox  what this machine has to confine commands with; each is tried for real
"""
