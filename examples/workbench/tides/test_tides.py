import unittest

from tides import HIGH, LOW, PERIOD, depth


class TestDepth(unittest.TestCase):
    def test_low_water_is_half_way(self) -> None:
        self.assertAlmostEqual(depth(PERIOD / 2), LOW)

    def test_the_next_high_water_is_as_high(self) -> None:
        self.assertAlmostEqual(depth(PERIOD), HIGH)
