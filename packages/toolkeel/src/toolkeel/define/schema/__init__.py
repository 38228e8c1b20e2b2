"""Parameters become a JSON Schema and a validator: the part that knows pydantic.

json_schema        the JSON Schema generator: pydantic's, adapted to what a tool shows
enforced_keywords  which keywords of a schema pydantic enforces, and which an author added
text_forms         which pattern a text must have to become a URL, a fraction, bytes of base64, and the like
model_fields       a pydantic model's fields as parameters, less those the program fills
canonical          validated values as the JSON that a model could have sent
serializer         arguments as JSON by their types, where values alone do not show what was sent
closed_objects     closing of objects, and facts about a schema: strictness, secrets
known_types        schema and validator of common types, without pydantic's compiler
strict_core        pydantic's core schema without the places where it takes more than is advertised
gaps               extra checks where pydantic accepts more than is advertised
argument_schema    parameters become a JSON Schema and a validator
budget_validator   validator of a tool's arguments: pydantic first, the advertised schema for what it lacks
annotation_schema  schema and validator of annotated parameters, made by pydantic of all at once
from_model         arguments described by a pydantic model (``parameters=``)
from_json_schema   tools whose parameters are given as JSON Schema
json_schema_validator  a JSON Schema, compiled once: judges values, explains errors, fills in defaults
pydantic_v1        arguments described by a model of pydantic's first version, which `pydantic.v1` still holds
impossible         schemas that no value satisfies: keywords that contradict each other
plain              schemas that surely compile, which are compiled when the first value comes
foreign            other programs' schemas: keywords that cannot be validated are removed and reported (MCP, OpenAPI)
"""
