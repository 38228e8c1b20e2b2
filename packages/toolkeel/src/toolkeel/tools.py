"""Tools ready to use.

Those of toolkeel-workspace (files, shell, web, search, code, computer, pictures) can be imported from
here when it is installed; type checkers find them in `toolkeel_workspace`, and
`Weather` in `toolkeel_studio.weather`.
"""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel.builtin.calculator import calculator as calculator
    from toolkeel.builtin.catalog import load_builtin as load_builtin
    from toolkeel.builtin.clock import clock as clock
    from toolkeel.builtin.hosted_calls import collect_hosted_items as collect_hosted_items
    from toolkeel.builtin.hosted_mcp import HostedMCP as HostedMCP
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel.builtin.calculator": "calculator",
            "toolkeel.builtin.catalog": "load_builtin",
            "toolkeel.builtin.clock": "clock",
            "toolkeel.builtin.hosted_calls": "collect_hosted_items",
            "toolkeel.builtin.hosted_mcp": "HostedMCP",
        },
    )
