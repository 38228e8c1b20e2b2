"""Schedules as an operator lists them; how they fire and who may add one is tested with the engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from toolkeel_studio.durable import Durable
from toolkeel_studio.durable.schedules import Schedule, list_schedules


@pytest.mark.slow
def test_a_schedule_of_another_program_is_left_out_and_one_that_cannot_be_read_has_no_place(
    make: Callable[..., Durable],
) -> None:
    durable = make()
    queue = durable._queue
    queue.add_schedule("0 8 * * *", "odd", {"session": 7}, False)
    other = {"schedule_name": "other", "workflow_name": "theirs", "schedule": "0 8 * * *"}
    queue.client.apply_schedules([other])  # type: ignore[list-item]
    odd = Schedule("odd", durable._queue.name[9:], "0 8 * * *", "", "", "", False, "")
    assert list_schedules(queue) == (odd,)
