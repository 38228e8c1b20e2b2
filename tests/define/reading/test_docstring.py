"""Docstrings as people write them."""

from __future__ import annotations

import subprocess
import sys
from inspect import cleandoc

import docstring_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.define.reading.docstring import (
    Docstring,
    _clean_google,
    _one_line,
    _params,
    _plain_google,
    parse_docstring,
)

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


def test_a_style_that_is_asked_for_is_taken_even_if_another_has_more_markers() -> None:
    text = "Sum.\n\n:param a: One.\n\nArgs:\n    b: Two.\n\nReturns:\n    x"
    assert parse_docstring(text).params == {"b": "Two."}
    assert parse_docstring(text, "sphinx").params == {"a": "One."}
    assert parse_docstring("Just text.", "numpy") == Docstring("Just text.")


@pytest.mark.parametrize("text", [None, "", "   \n  "])
def test_no_docstring_is_an_empty_description(text: str | None) -> None:
    assert parse_docstring(text) == Docstring("")


def test_markdown_and_blank_lines_of_a_plain_docstring_are_kept() -> None:
    text = "Sum.\n\n1. one: two\n\n        code\n\n| a | b |\n|---|---|"
    assert parse_docstring(text) == Docstring(text)


def test_ordinary_docstrings_do_not_import_the_parser() -> None:
    code = (
        "import sys; from toolkeel.define.reading.docstring import parse_docstring as p;"
        "p('Look up: the weather.\\n\\nMore.');"
        "assert p('S.\\n\\nArgs:\\n    a (int): x\\n\\nReturns:\\n    str: y').returns == 'y';"
        "assert 'docstring_parser' not in sys.modules;"
        "p(':param a: x'); assert 'docstring_parser' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


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
    for style in ("auto", "google", "numpy", "sphinx"):
        parsed = parse_docstring(text, style)  # type: ignore[arg-type]
        assert all(name.isidentifier() for name in parsed.params)
        lines = [*parsed.params.values(), parsed.returns]
        assert all(line == " ".join(line.split()) for line in lines)


ODD = st.text(alphabet="ab c:()[]`*\\,.-_ \t\x0b\x85\u2028\r参：（）", max_size=16)


@given(st.lists(ODD, max_size=4), ODD)
def test_entries_read_here_say_what_the_library_reads(entries: list[str], returns: str) -> None:
    written = "".join(f"    {each}\n" for each in entries)
    _, clean = _clean_google(cleandoc(f"Sum.\n\nArgs:\n{written}\nReturns:\n    {returns}"), [])
    plain = _plain_google(clean)
    if not clean or plain is None:
        return
    read = docstring_parser.parse(f"-\n\n{clean}", docstring_parser.DocstringStyle.GOOGLE)
    problems: tuple[list[str], list[str]] = ([], [])
    library = [(each.arg_name, each.description) for each in read.params]
    assert _params(plain[0], problems[0]) == _params(library, problems[1])
    assert problems[0] == problems[1]
    assert _one_line(plain[1]) == "; ".join(
        _one_line(each.description) for each in read.many_returns
    )


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
