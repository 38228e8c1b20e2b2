"""Tools from an OpenAPI document.

document  reading an OpenAPI document: each operation as the data a tool is made of. Pure; no network
request   from a call's arguments to a request: each value where the OpenAPI document says. Pure
tools     tools from an OpenAPI document: each operation one tool, its requests made with httpx2
"""

from toolkeel_compat.openapi.tools import EXCERPT, MAX_BYTES, from_openapi

__all__ = ["EXCERPT", "MAX_BYTES", "from_openapi"]
