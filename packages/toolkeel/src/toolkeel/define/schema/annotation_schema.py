"""Schema and validator of annotated parameters, made by pydantic of all of them at once.

The parameters become a `TypedDict`, which takes every legal parameter name and leaves absent what
the model left out, so that the function's own defaults apply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NotRequired

from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

from toolkeel._records.record import NOTHING
from toolkeel.define.reading.parameter import ParameterField, Values
from toolkeel.define.reading.signature import MISSING
from toolkeel.define.schema.closed_objects import Facts, closing_facts, is_plain
from toolkeel.define.schema.json_schema import OnlyAPath, SchemaMaker
from toolkeel.errors import DefinitionError


def from_annotations(
    title: str, given: Mapping[str, ParameterField], rest: Mapping[str, object], closing: bool
) -> tuple[dict[str, Any], Callable[..., Values], Facts]:
    """Schema, validator and facts of parameters, all of them made by pydantic at once.

    Args:
        title: The tool's name.
        given: The parameters by name.
        rest: The annotation of ``**kwargs``, if there is one.
        closing: Whether unknown keys are refused.

    Raises:
        DefinitionError: naming the parameter that has no JSON form, and the fix.
    """
    fields = {
        name: field.told() if field.default is MISSING else NotRequired[field.told()]
        for name, field in given.items()
    }
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(typed_dict(title, fields, rest))
        schema = adapter.json_schema(schema_generator=SchemaMaker)
    except Exception as error:
        raise no_json_form(title, {**fields, **rest}, error) from error
    schema.pop("title", None)
    facts = closing_facts(schema, closing, is_plain(adapter.core_schema))
    return schema, adapter.validator.validate_json, facts


def typed_dict(
    title: str, fields: Mapping[str, object], rest: Mapping[str, object] = NOTHING
) -> Any:
    """Make the class whose values are a tool's arguments.

    Args:
        title: The tool's name.
        fields: Annotation by name.
        rest: That of ``**kwargs``, if there is one.
    """
    make: Any = TypedDict  # the functional form with fields known only now
    more = {"extra_items": next(iter(rest.values()))} if rest else {}
    config = ConfigDict(strict=True, allow_inf_nan=False)
    if not rest:
        config["extra"] = "forbid"
    return with_config(config)(make(title, dict(fields), **more))


def reason_of(error: Exception) -> str:
    """Why a type has no JSON form, in a line without pydantic's advice, which is for its own models."""
    if isinstance(error, LookupError):
        return "it is no type"
    text = str(error).splitlines()[0].partition(". Set `")[0]
    return text.replace("Unable to generate pydantic-core schema for", "there is none for")


def no_json_form(title: str, fields: Mapping[str, object], error: Exception) -> DefinitionError:
    """Find the parameter that is to blame by trying each alone."""
    culprit, text = "a parameter", reason_of(error)
    for name, annotation in fields.items():
        try:
            one = TypeAdapter(typed_dict(title, {name: annotation}))
            one.json_schema(schema_generator=SchemaMaker)
        except Exception as reason:
            culprit, text = f"parameter {name!r}", reason_of(reason)
            break
    if isinstance(error, OnlyAPath):
        return DefinitionError(f"{title}: {culprit} {text}")
    return DefinitionError(
        f"{title}: {culprit} has no JSON form ({text}); use a type JSON can carry, or mark it "
        "Annotated[..., Injected] if the program fills it"
    )
