"""Schema and validator of annotated parameters, made by pydantic of all of them at once.

The parameters become a `TypedDict`, which takes every legal parameter name and leaves absent what
the model left out, so that the function's own defaults apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NotRequired

from pydantic import ConfigDict, TypeAdapter, with_config
from pydantic_core import SchemaError
from typing_extensions import TypedDict

from toolkeel._records.record import NOTHING
from toolkeel.define.reading.annotations import modernize
from toolkeel.define.reading.parameter import ParameterField, Values
from toolkeel.define.reading.signature import MISSING
from toolkeel.define.schema.closed_objects import SchemaFacts, compile_core
from toolkeel.define.schema.json_schema import PathOnlyAlias, ToolSchemaGenerator, generate_schema
from toolkeel.errors import DefinitionError


def from_annotations(
    title: str,
    fields: Mapping[str, ParameterField],
    rest: Mapping[str, object],
    forbid_unknown: bool,
) -> tuple[dict[str, Any], Callable[..., Values], SchemaFacts]:
    """Compile parameters with pydantic, all at once: return their schema, validator and facts.

    Args:
        title: The tool's name.
        fields: The parameters by name.
        rest: The annotation of ``**kwargs``, if there is one.
        forbid_unknown: True if unknown keys are refused.

    Raises:
        DefinitionError: naming the parameter that has no JSON form, and the fix.
    """
    annotations = {
        name: field.with_description()
        if field.default is MISSING
        else NotRequired[field.with_description()]
        for name, field in fields.items()
    }
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(typed_dict(title, annotations, rest))
        made = generate_schema(adapter.core_schema)
    except Exception as error:
        raise no_json_form_error(title, {**annotations, **rest}, error) from error
    made.schema.pop("title", None)
    strict, facts = compile_core(adapter.core_schema, made, forbid_unknown)
    validator = adapter.validator if strict is None else strict
    return made.schema, validator.validate_json, facts


def typed_dict(
    title: str, fields: Mapping[str, object], rest: Mapping[str, object] = NOTHING
) -> Any:
    """Create the class whose values are a tool's arguments.

    Args:
        title: The tool's name.
        fields: Annotation by name.
        rest: That of ``**kwargs``, if there is one.
    """
    make: Any = TypedDict  # the functional form with fields known only now
    more = {"extra_items": next(iter(rest.values()))} if rest else {"closed": True}
    config = ConfigDict(strict=True, allow_inf_nan=False)
    return with_config(config)(make(title, dict(fields), **more))


_REGEX = re.compile(r"regex parse error.*error: ([^\n]+)$", re.DOTALL)


def describe_reason(error: Exception) -> str:
    """Return why a type has no JSON form, in one line without pydantic's advice."""
    if isinstance(error, LookupError):
        return "it is no type"
    text = str(error).splitlines()[0].partition(". Set `")[0]
    return text.replace("Unable to generate pydantic-core schema for", "there is none for")


def undefined_name(annotation: object) -> str | None:
    """Return the name in a type's fields that is not defined yet, or None if there is none."""
    try:
        TypeAdapter(modernize(annotation)).rebuild(raise_errors=True)
    except NameError as error:  # pydantic's is one
        return str(error.name)
    except Exception:  # something else is wrong with it
        return None
    return None


def no_json_form_error(
    title: str, fields: Mapping[str, object], error: Exception
) -> DefinitionError:
    """Build the error that names the parameter without JSON form, trying each alone."""
    culprit, text = "a parameter", describe_reason(error)
    for name, annotation in fields.items():
        if missing := undefined_name(annotation):
            return DefinitionError(
                f"{title}: the type of parameter {name!r} uses {missing!r}, which is not defined yet; "
                "import or define it before the tool, outside 'if TYPE_CHECKING'"
            )
        try:
            one = TypeAdapter(typed_dict(title, {name: annotation}))
            one.json_schema(schema_generator=ToolSchemaGenerator)
        except Exception as reason:
            culprit, text = f"parameter {name!r}", describe_reason(reason)
            break
    if isinstance(error, PathOnlyAlias):
        return DefinitionError(f"{title}: {culprit} {text}")
    if isinstance(error, SchemaError) and (wrong := _REGEX.search(str(error))):
        return DefinitionError(
            f"{title}: {culprit} has a pattern that does not run here ({wrong[1]}); write it without "
            "that, or check the text in an AfterValidator"
        )
    return DefinitionError(
        f"{title}: {culprit} has no JSON form ({text}); use a type JSON can carry, or mark it "
        "Annotated[..., Injected] if the program fills it"
    )
