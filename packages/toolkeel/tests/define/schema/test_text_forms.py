"""Texts that become a value are those of the advertised pattern."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    UUID4,
    UUID7,
    AnyUrl,
    Base64Bytes,
    Base64Str,
    Base64UrlBytes,
    BeforeValidator,
    ByteSize,
    EncodedStr,
    FileUrl,
    HttpUrl,
    IPvAnyAddress,
    PostgresDsn,
)
from pydantic.types import EncoderProtocol

from tests.define.calling import answered, called, taking
from toolkeel import Tool


class Form(NamedTuple):
    """A tool, the pattern that it advertises, and what its texts are made of."""

    tool: Tool[..., Any]
    pattern: str
    letters: str


def form(type_: Any, letters: str) -> Form:
    take, _ = taking(type_)
    part: Any = take.parameters["properties"]["x"]
    texts = [each for each in part.get("anyOf", [part]) if each["type"] == "string"]
    return Form(take, texts[0]["pattern"], letters)


FORMS = [
    form(Base64Bytes, "aZ0+/-_=\n "), form(Base64UrlBytes, "aZ0+/-_=\n "),
    form(Fraction, "+-019/._e "), form(complex, "+-019.eEjJ_ ()"),
    form(ByteSize, "019. kKMbBiIte-_"), form(UUID4, "0489abAB-gz"), form(UUID7, "0789abAB-gz"),
]  # fmt: skip


def is_accepted(take: Tool[..., Any], text: str) -> bool:
    try:
        take.arguments.validate(json.dumps({"x": text}))
    except ValueError:
        return False
    return True


@given(st.data())
def test_a_text_is_accepted_exactly_if_it_has_the_advertised_pattern(data: st.DataObject) -> None:
    take, pattern, letters = data.draw(st.sampled_from(FORMS))
    texts = st.from_regex(
        pattern.removesuffix("$"), fullmatch=True, alphabet=st.sampled_from(letters)
    )
    text = data.draw(texts | st.text(letters, max_size=12))
    assert is_accepted(take, text) == bool(re.fullmatch(pattern, text)), (take.parameters, text)


@pytest.mark.parametrize(
    ("type_", "right", "wrong"),
    [
        (HttpUrl, ["https://a.b/c", "http://ä.de"], ["ftp://a.b", "HTTPS://a.b", "http:a.b", "a.b"]),
        (PostgresDsn, ["postgresql+psycopg://u@a,b/db"], ["postgresqlxpsycopg://h", "http://a.b"]),
        (FileUrl, ["file:///a"], ["file:/a", "https://a.b"]),
        (Base64Bytes, ["", "aGk="], ["!!", "aGk", "aGk=\n", "-_8="]),
        (Base64UrlBytes, ["-_8="], ["+/8="]),
        (Base64Str, ["aGk="], ["!!"]),
        (Fraction, ["1/3", "-.5", "1."], ["1_0/3", " 1/3", "1/0", "1e9", True]),
        (complex, ["1+2j", "j", "1e5-.5J"], ["1 + 2j", "(1+2j)", "nan", 1.5, True]),
        (ByteSize, ["10 MB", "1.5kib", "3", 3], ["5 MB extra", "5 parsecs", "-1", -1, True]),
        (IPvAnyAddress, ["1.2.3.4", "::1"], [16909060, "x"]),
    ],
)  # fmt: skip
def test_no_other_text_is_read(type_: Any, right: list[Any], wrong: list[Any]) -> None:
    take, received = taking(type_)
    for each in right:
        called(take, {"x": each})
    assert len(received) == len(right)
    for each in wrong:
        assert answered(take, {"x": each}).kind == "invalid_arguments", each


def test_a_branch_of_a_union_takes_only_texts_of_its_form() -> None:
    take, received = taking(Base64Bytes | str)
    called(take, {"x": "!!"})
    assert received == ["!!"]


def test_an_object_that_a_validator_made_is_no_text() -> None:
    made = Annotated[HttpUrl, BeforeValidator(lambda text: AnyUrl(f"https://{text}"))]
    take, received = taking(made)
    called(take, {"x": "https://a.b"})
    assert received == [HttpUrl("https://https//a.b")]


class Reversed(EncoderProtocol):
    """An encoder of the user's own."""

    @classmethod
    def decode(cls, data: bytes) -> bytes:
        return data[::-1]

    @classmethod
    def encode(cls, value: bytes) -> bytes:
        return value[::-1]

    @classmethod
    def get_json_format(cls) -> str:
        return "reversed"


def test_an_encoder_of_ones_own_takes_any_text() -> None:
    take, received = taking(Annotated[str, EncodedStr(encoder=Reversed)])
    assert take.parameters["properties"] == {"x": {"type": "string", "format": "reversed"}}
    called(take, {"x": "!a"})
    assert received == ["a!"]
