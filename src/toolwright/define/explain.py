from toolwright.errors import *


def pydantic_errors(error, schema):
    return [
        FieldError(tuple(e["loc"]), e["msg"], repr(e["input"])[:50])
        for e in error.errors(include_url=False)
    ]


def invalid_arguments(name, errors):
    return InvalidArguments(
        f"Invalid arguments for {name}:\n" + "\n".join(map(str, errors)), errors
    )
