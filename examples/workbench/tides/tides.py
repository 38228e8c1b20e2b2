"""Depth of water over the sill of a harbour, from one high water to the next."""

from math import cos, pi

HIGH, LOW = 4.6, 0.8  # metres
PERIOD = 12.4  # hours


def depth(hours: float) -> float:
    """Depth in metres, so many hours after high water."""
    middle, swing = (HIGH + LOW) / 2, (HIGH - LOW) / 2
    return middle + swing * cos(pi * hours / PERIOD)
