"""``python -m toolkeel`` is the command ``toolkeel``."""

from toolkeel_studio.cli.main import main

if __name__ == "__main__":  # processes that it starts import this file, too
    main()
