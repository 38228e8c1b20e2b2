from __future__ import annotations

from toolwright.define.schema import Arguments


def arguments_of_schema(name, schema, extra) -> Arguments:
    raise NotImplementedError
