"""Docstrings as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.define.reading.docstring import Docstring, parse_docstring

GOOGLE = """
    Look up the weather.

    Works for:

    - cities
    - villages

    Args:
        city (str, optional): Name of
            the city.
        unit: Unit: "celsius" or `fahrenheit`.
        *names: More names.
        **options (dict[str, int]): The rest.

    Returns:
        str: The weather,
        in words.

    Raises:
        ValueError: if there is no such city.

    Example:
        >>> weather("Paris")
"""

NUMPY = """
    Look up the weather.

    Long text.

    Parameters
    ----------
    city : str, optional
        Name of
        the city.
    lat, lon : float
        Where it is.
    **options
        The rest.

    Returns
    -------
    str
        The weather.

    Notes
    -----
    Nobody reads these.
"""

SPHINX = """
    Look up the weather.

    Long text.

    :param city: Name of
        the city.
    :type city: str
    :param dict[str, int] options: The rest,
        :class:`dict` or not.
    :raises ValueError: if there is no such city.
    :returns: The weather.
    :rtype: str
"""


def test_a_google_docstring_gives_description_parameters_and_returns() -> None:
    parsed = parse_docstring(GOOGLE)
    assert parsed.style == "google"
    assert parsed.description == "Look up the weather.\n\nWorks for:\n\n- cities\n- villages"
    assert dict(parsed.params) == {
        "city": "Name of the city.",
        "unit": 'Unit: "celsius" or `fahrenheit`.',
        "names": "More names.",
        "options": "The rest.",
    }
    assert parsed.returns == "The weather, in words."
    assert parsed.problems == ()


def test_a_numpy_docstring_gives_description_parameters_and_returns() -> None:
    parsed = parse_docstring(NUMPY)
    assert parsed.style == "numpy"
    assert parsed.description == "Look up the weather.\n\nLong text."
    assert dict(parsed.params) == {
        "city": "Name of the city.",
        "lat": "Where it is.",
        "lon": "Where it is.",
        "options": "The rest.",
    }
    assert parsed.returns == "The weather."
    assert parsed.problems == ()


def test_a_sphinx_docstring_gives_description_parameters_and_returns() -> None:
    parsed = parse_docstring(SPHINX)
    assert parsed.style == "sphinx"
    assert parsed.description == "Look up the weather.\n\nLong text."
    assert dict(parsed.params) == {
        "city": "Name of the city.",
        "options": "The rest, :class:`dict` or not.",
    }
    assert parsed.returns == "The weather."
    assert parsed.problems == ()


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("查询天气。\n\nArgs：\n    city（str）：城市名称：必填\n    unit：单位", {"city": "城市名称：必填", "unit": "单位"}),
        ("查询天气。\n\n参数:\n    城市: 名称", {"城市": "名称"}),
        ("查询天气。\n\nParameters\n----------\ncity：str\n    城市名称", {"city": "城市名称"}),
        ("查询天气。\n\n:param city：城市名称\n：param unit：单位", {"city": "城市名称", "unit": "单位"}),
    ],
)  # fmt: skip
def test_full_width_colons_and_chinese_titles_are_read(text: str, params: dict[str, str]) -> None:
    parsed = parse_docstring(text)
    assert (parsed.description, dict(parsed.params)) == ("查询天气。", params)


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("Sum.\n\nArgs:\n    - a: One.\n    - b: Two.", {"a": "One.", "b": "Two."}),
        ("Sum.\n\nArgs:\n- a: One.\n- b: Two.\n\nMore.", {"a": "One.", "b": "Two."}),
        ("Sum.\n\nArgs:\n  a: One\n  line wrapped at the margin.", {"a": "One line wrapped at the margin."}),
        ("Sum.\n\nArgs:\n    a: One.\n\n    b: Two.\nText at the margin: none.", {"a": "One.", "b": "Two."}),
        ("Sum.\n\nArgs:\n    a: One.\nArgs:\n    b: Two.", {"a": "One.", "b": "Two."}),
        ("Sum.\n\nArgs:\n    a (Callable[[int], str]): One.", {"a": "One."}),
        ("Sum.\n\nArgs:\n    a (dict[str: int]): One.", {"a": "One."}),
        ("Sum.\n\nArgs:\n    a: See http://x.org: it helps.", {"a": "See http://x.org: it helps."}),
        ("Sum.\n\nArgs:\n    `a`: One.\n    \\*b: Two.", {"a": "One.", "b": "Two."}),
        ("Sum.\n\nArgs:\n    a: One of:\n        - x: first\n        - y: second", {"a": "One of: - x: first - y: second"}),
        ("Sum.\n\nKeyword Args:\n    a: One.\n\nArgs:\n    b: Two.", {"a": "One.", "b": "Two."}),
    ],
)  # fmt: skip
def test_what_people_really_write_is_read(text: str, params: dict[str, str]) -> None:
    parsed = parse_docstring(text)
    assert (parsed.description, dict(parsed.params)) == ("Sum.", params)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Sum.\n\nArgs:\n    a: One.\n    a: Two.", 'The parameter "a" is documented twice.'),
        ("Sum.\n\n:param a: One.\n:param a: Two.", 'The parameter "a" is documented twice.'),
        ("Sum.\n\nArgs:\n", 'The section "args" names no parameter.'),
        ("Sum.\n\nArgs:\n    a (int) One.", "In the section \"args\", no \"name:\" starts 'a (int) One.'."),
        ("Sum.\n\n:param: One.", "The field :param: names no parameter."),
        ("Sum.\n\nParameters\n----------\nthe first\n    One.", "'the first' is not a parameter's name."),
    ],
)  # fmt: skip
def test_malformed_sections_are_named_as_problems(text: str, problem: str) -> None:
    parsed = parse_docstring(text)
    assert problem in parsed.problems
    assert parsed.description == "Sum."


def test_the_first_text_of_a_repeated_parameter_is_kept() -> None:
    assert parse_docstring("S.\n\nArgs:\n    a: One.\n    a: Two.").params == {"a": "One."}


@pytest.mark.parametrize(
    ("text", "returns"),
    [
        ("Sum.\n\nReturns:\n    list[int]: The sums.", "The sums."),
        ("Sum.\n\nReturns:\n    The sum: a number.", "The sum: a number."),
        ("Sum.\n\nReturns\n-------\nint\n    The sum.\nstr\n    Its unit.", "The sum.; Its unit."),
        ("Sum.\n\n:return: The sum,\n    rounded.\n:rtype: int", "The sum, rounded."),
    ],
)  # fmt: skip
def test_what_is_returned_is_told_without_its_type(text: str, returns: str) -> None:
    assert parse_docstring(text).returns == returns


@pytest.mark.parametrize("text", [None, "", "   \n  "])
def test_no_docstring_is_an_empty_description(text: str | None) -> None:
    assert parse_docstring(text) == Docstring("")


def test_markdown_and_blank_lines_of_a_plain_docstring_are_kept() -> None:
    text = "Sum.\n\n1. one: two\n\n        code\n\n| a | b |\n|---|---|"
    assert parse_docstring(text) == Docstring(text)


LINES = st.lists(
    st.sampled_from(
        [
            "Args:", "Returns:", "参数：", "Parameters", "----------", ":param a: x", ":returns: y",
            "    a: one", "    b (int): two", "  c: three", "- d: four", "text", "", "    ", ":",
            "：", "    *args: rest", "a : int", "\tb", "    text", ":param:", "Raises:", "    ：x",
        ]
    )
    | st.text(max_size=20)
)  # fmt: skip


@given(LINES.map("\n".join) | st.text())
def test_any_text_is_read_without_an_exception_into_single_lines(text: str) -> None:
    parsed = parse_docstring(text)
    assert all(name.isidentifier() for name in parsed.params)
    lines = [*parsed.params.values(), parsed.returns]
    assert all(line == " ".join(line.split()) for line in lines)


NAMES = st.lists(
    st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True), min_size=1, max_size=5, unique=True
)
TEXTS = st.lists(st.from_regex(r"[A-Z][a-z ]{0,30}[a-z]\.", fullmatch=True), min_size=5, max_size=5)


@given(NAMES, TEXTS)
def test_the_three_styles_of_one_docstring_say_the_same(names: list[str], texts: list[str]) -> None:
    docs = {name: " ".join(text.split()) for name, text in zip(names, texts, strict=False)}
    google = "".join(f"    {name}: {text}\n" for name, text in docs.items())
    numpy = "".join(f"{name} : int\n    {text}\n" for name, text in docs.items())
    sphinx = "".join(f":param {name}: {text}\n" for name, text in docs.items())
    for text in (f"Args:\n{google}", f"Parameters\n----------\n{numpy}", sphinx):
        parsed = parse_docstring(f"Sum.\n\n{text}")
        assert (parsed.description, dict(parsed.params), parsed.problems) == ("Sum.", docs, ())
