"""Tool definitions as JSON Schema: for every provider, with what each form loses, and read from others'."""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel.define.dialect.definition import Definition as Definition
    from toolkeel.define.dialect.definition import definition as definition
    from toolkeel.define.import_definition import ForeignDefinition as ForeignDefinition
    from toolkeel.define.import_definition import parse_definition as parse_definition
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel.define.dialect.definition": "Definition definition",
            "toolkeel.define.import_definition": "ForeignDefinition parse_definition",
        },
    )
