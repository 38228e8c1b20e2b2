"""2. A call becomes a message."""

import logging

# Silent until the program configures logging.
logging.getLogger("toolwright").addHandler(logging.NullHandler())
