from toolwright.record import record


@record
class Coerced:
    value: dict
    changes: tuple = ()


def coerce(v, schema, extra="forbid"):
    return Coerced(v)
