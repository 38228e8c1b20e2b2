"""What each provider accepts of JSON Schema, as a table.

The rules that rewrite a schema (`rewrite_rules`) hold no provider's name: they look here. A new
provider is a new row. Every fact names where it comes from; where a provider documents less
than its server takes, the row follows what its server was reported to refuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from toolkeel._records.record import record
from toolkeel.define.names import NamePolicy

Provider: TypeAlias = Literal[
    "anthropic", "bedrock", "gemini", "gemini-legacy", "mistral", "compatible", "mcp", "plain"
]
"""Those whose schemas, and whose tools, have one form."""

Target: TypeAlias = Literal[Provider, "openai", "openai-strict", "anthropic-strict"]


@record
class Loss:
    """A constraint that a provider's form of a schema does not express exactly.

    Args:
        path: JSON Pointer into the original schema, such as ``#/properties/city``.
        what: The keyword or trait that changed.
        why: What the provider does not take, and what became of it.
    """

    path: str
    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}: {self.why}"


@record
class Dialect:
    """Facts about what one provider accepts.

    Args:
        provider: Its name in reports.
        keywords: JSON Schema keywords it takes below the root; None: all of them.
        refused: Keywords for which strict mode is given up rather than the keyword.
        root_refused: Keywords it refuses at the root of the parameters only.
        object_root: The root must be a plain object schema, not a ``$ref``.
        refs: ``$ref`` kept as it is; kept but without neighbours ("alone"); or put in place.
        recursion: True if a definition may refer to itself (where `refs` is not "inline").
        any_of: True if other constraints may stand beside ``anyOf`` ("keep"), only
            descriptions and titles ("annotations"), nothing at all ("alone"), or if
            ``anyOf`` is not taken ("none").
        null: How "or null" is spelled: as a type, as ``nullable: true``, or not at all.
        type_lists: True if ``type`` may be a list.
        typed: Every schema must say its type.
        explicit: An array must have ``items`` and an object ``properties``, if only empty.
        closed: Every object must have ``additionalProperties: false``.
        all_required: Every property must be required; what was optional becomes nullable.
        string_enums: ``enum`` may list strings only.
        formats: Values of ``format`` it takes; None: all.
        lookaround: True if ``pattern`` may look ahead or behind, or refer back.
        min_items: Values of ``minItems`` it takes; None: all.
        keys: What property names it takes; None: any text.
        fallback: The target for a schema that strict mode cannot say.
    """

    provider: str
    keywords: frozenset[str] | None = None
    refused: frozenset[str] = frozenset()
    root_refused: frozenset[str] = frozenset()
    object_root: bool = True
    refs: Literal["keep", "alone", "inline"] = "keep"
    recursion: bool = True
    any_of: Literal["keep", "annotations", "alone", "none"] = "keep"
    null: Literal["type", "flag", "none"] = "type"
    type_lists: bool = True
    typed: bool = False
    explicit: bool = False
    closed: bool = False
    all_required: bool = False
    string_enums: bool = False
    formats: frozenset[str] | None = None
    lookaround: bool = True
    min_items: frozenset[int] | None = None
    keys: NamePolicy | None = None
    fallback: Target | None = None

    def takes(self, keyword: str) -> bool:
        """Return True if `keyword` is accepted in a schema below the root."""
        return self.keywords is None or keyword in self.keywords


def word_set(text: str) -> frozenset[str]:
    """Split a text of words into a set."""
    return frozenset(text.split())


_CONDITIONS = word_set("not if then else dependentRequired dependentSchemas contains propertyNames")
_UNIONS = word_set("anyOf oneOf allOf")
_CORE = word_set("type title description enum properties required items anyOf $ref $defs")
_SIZES = word_set("minLength maxLength minItems maxItems minimum maximum")
_STRICT_FORMATS = word_set("date-time time date duration email hostname ipv4 ipv6 uuid")
_STRICT_REFUSED = _CONDITIONS | word_set(
    "patternProperties allOf unevaluatedProperties unevaluatedItems minContains maxContains"
)

_OPENAI = Dialect(
    # "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the
    # top level"; "array schema missing items"; "object schema missing properties"
    provider="OpenAI",
    root_refused=_UNIONS | word_set("enum const not if then else"),
    explicit=True,
)

_ANTHROPIC = Dialect(
    # "input_schema does not support oneOf, allOf, or anyOf at the top level";
    # "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
    provider="Anthropic",
    root_refused=_UNIONS,
    keys=NamePolicy("A-Za-z0-9_.-", 64, stem="p"),
)

DIALECTS: Mapping[Target, Dialect] = MappingProxyType(
    {
        "openai": _OPENAI,
        # OpenAI guide "Structured Outputs", Supported schemas; openai.lib._pydantic
        "openai-strict": Dialect(
            provider="OpenAI's strict mode",
            keywords=_CORE
            | word_set("const pattern format additionalProperties minItems maxItems multipleOf")
            | word_set("minimum maximum exclusiveMinimum exclusiveMaximum"),
            refused=_STRICT_REFUSED,
            root_refused=_UNIONS,
            refs="alone",
            any_of="annotations",
            typed=True,
            explicit=True,
            closed=True,
            all_required=True,
            formats=_STRICT_FORMATS,
            lookaround=False,
            fallback="openai",
        ),
        "anthropic": _ANTHROPIC,
        # Claude guide "Structured outputs", JSON Schema limitations;
        # anthropic.lib._parse._transform
        "anthropic-strict": Dialect(
            provider="Anthropic's strict mode",
            keywords=_CORE | word_set("const default pattern format additionalProperties minItems"),
            refused=_STRICT_REFUSED,
            root_refused=_UNIONS,
            refs="alone",
            recursion=False,
            any_of="annotations",
            type_lists=False,
            typed=True,
            closed=True,
            formats=_STRICT_FORMATS | {"uri"},
            lookaround=False,
            min_items=frozenset({0, 1}),
            keys=_ANTHROPIC.keys,
            fallback="anthropic",
        ),
        # Converse: "The top level schema type must be object"; the models behind it are mostly
        # Anthropic's, with their rules for keys and root
        "bedrock": Dialect(
            provider="Bedrock", root_refused=_ANTHROPIC.root_refused, keys=_ANTHROPIC.keys
        ),
        # parametersJsonSchema: "If $ref is set on a sub-schema, no other properties … may be set"
        "gemini": Dialect(provider="Gemini", root_refused=_UNIONS, refs="alone"),
        # parameters: google.genai.types.Schema; one unknown field fails the entire request;
        # "only 'enum' and 'date-time' are supported for STRING type"; "When using any_of, it
        # must be the only field set"
        "gemini-legacy": Dialect(
            provider="Gemini's OpenAPI form",
            keywords=_CORE - word_set("$ref $defs")
            | _SIZES
            | word_set("nullable default pattern format minProperties maxProperties"),
            root_refused=_UNIONS,
            refs="inline",
            any_of="alone",
            null="flag",
            type_lists=False,
            typed=True,
            explicit=True,
            string_enums=True,
            formats=word_set("date-time enum float double int32 int64"),
            lookaround=False,
            keys=NamePolicy("A-Za-z0-9_", 64, "A-Za-z_", stem="p"),
        ),
        "mistral": Dialect(provider="Mistral", root_refused=_OPENAI.root_refused, explicit=True),
        # servers that imitate OpenAI's chat API: any of $ref, anyOf, title, default, format and
        # additionalProperties is refused by one of them
        "compatible": Dialect(
            provider="an OpenAI-compatible server",
            keywords=word_set("type description enum properties required items pattern") | _SIZES,
            root_refused=_UNIONS,
            refs="inline",
            any_of="none",
            null="none",
            type_lists=False,
            explicit=True,
        ),
        # MCP 2026-07-28: inputSchema is any JSON Schema 2020-12 with type "object" at its root
        "mcp": Dialect(provider="MCP", object_root=False),
        "plain": Dialect(provider="JSON Schema", object_root=False),
    }
)
"""The table: what each target accepts."""

MAX_EXPANSIONS = 2
"""How often a definition is put inside itself where ``$ref`` is not taken."""

MAX_NODES = 4000
"""How large a schema may grow by putting definitions in place."""

MAX_DEPTH = 100
"""How deep a schema may be nested; deeper ones are taken for a mistake."""


@record
class Sizes:
    """Sizes above which a provider refuses a strict schema.

    Args:
        properties: Properties in all.
        depth: Objects and arrays inside one another.
        enum_values: Values of all enums together.
        characters: Length of all names, definitions' names, enum values and constants together.
    """

    properties: int
    depth: int
    enum_values: int
    characters: int


LIMITS: Mapping[Target, Sizes] = MappingProxyType(
    # OpenAI guide "Structured Outputs", "Objects have limitations on nesting depth and size"
    {"openai-strict": Sizes(properties=5000, depth=10, enum_values=1000, characters=120_000)}
)
