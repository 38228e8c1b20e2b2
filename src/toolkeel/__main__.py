"""``python -m toolkeel`` is the command ``toolkeel``."""

from toolkeel.cli.main import main

main()
