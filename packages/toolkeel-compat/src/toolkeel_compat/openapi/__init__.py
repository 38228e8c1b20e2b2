"""Tools from an OpenAPI document.

document  reads the document: each operation with its parameters and schema. Pure; no network
request   builds a request from a call's arguments. Pure
tools     makes a tool of each operation, which sends its requests with httpx2
"""

from toolkeel_compat.openapi.tools import EXCERPT, MAX_BYTES, from_openapi

__all__ = ["EXCERPT", "MAX_BYTES", "from_openapi"]
