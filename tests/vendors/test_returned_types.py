"""Types of other packages as the results of tools: sent, or refused with the words to write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL.Image import Image as Picture

from toolkeel import tool
from toolkeel.errors import DefinitionError


def returning(annotation: Any) -> Any:
    def look() -> Any:
        """Look at it."""

    look.__annotations__["return"] = annotation
    return look


def test_a_picture_of_pillow_is_sent_but_within_a_dict_refused_with_the_words_to_write() -> None:
    assert tool(returning(Picture)).name == "look"
    with pytest.raises(DefinitionError) as refused:
        tool(returning(dict[str, Picture]))
    assert 'return Image(buffer.getvalue()) after picture.save(buffer, "PNG")' in str(refused.value)


@pytest.mark.parametrize("annotation", [np.ndarray, np.float64])
def test_numbers_of_numpy_may_be_the_result_of_a_tool(annotation: Any) -> None:
    assert tool(returning(annotation)).name == "look"
