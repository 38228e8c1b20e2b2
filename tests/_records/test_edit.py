"""The record of what somebody changed in a call."""

import copy

from toolkeel._records.edit import Edit


def test_the_model_is_told_of_an_edit_unless_it_is_a_steps() -> None:
    edit = Edit("a person", {"n": 5}, ("n from 500 to 5",))
    assert edit.told and copy.copy(edit) == edit
