"""Both programs draw the same random numbers."""

import random

random.seed(0)
