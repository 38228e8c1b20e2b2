"""Pydantic AI's names over this core: change the import lines, keep agents and tools.

names         which module exports each name, and replacements for missing names
usage         `RunUsage` and `UsageLimits`
context       `RunContext`: a tool's view of its run
messages      messages with parts: `ModelRequest`, `ModelResponse`
exceptions    `ModelRetry`, `ApprovalRequired`, and the exceptions that end a run
retries       how often the model may correct calls of a tool
failures      what a model reads of its failed calls
toolsets      tools of functions that take a `RunContext` or nothing: `Tool`, `FunctionToolset`
deferred      calls that wait: `DeferredToolRequests`, `DeferredToolResults`
test_model    `TestModel`: calls each tool once, then answers
function_model  `FunctionModel`: a function answers
options       options of agents and runs, `Caching`
validators    output validators
output_types  the core's output type of types, lists and unions: `ToolOutput`, `NativeOutput`
result        `AgentRunResult`, `StreamedRunResult`
agent         `Agent` with its decorators
ag_ui         `AGUIAdapter`: agents for front ends that speak AG-UI
"""

# ruff: noqa: F403
# `EXPORTS` says what each module gives to programs.

from __future__ import annotations

from typing import TYPE_CHECKING

from toolkeel import _lazy_exports
from toolkeel_compat.missing import make_module_getattr
from toolkeel_compat.pydantic_ai.names import EXPORTS, REPLACEMENTS

if TYPE_CHECKING:
    from toolkeel_compat.pydantic_ai.ag_ui.adapter import *
    from toolkeel_compat.pydantic_ai.agent import *
    from toolkeel_compat.pydantic_ai.context import *
    from toolkeel_compat.pydantic_ai.deferred import *
    from toolkeel_compat.pydantic_ai.exceptions import *
    from toolkeel_compat.pydantic_ai.function_model import *
    from toolkeel_compat.pydantic_ai.messages import *
    from toolkeel_compat.pydantic_ai.options import *
    from toolkeel_compat.pydantic_ai.output_types import *
    from toolkeel_compat.pydantic_ai.result import *
    from toolkeel_compat.pydantic_ai.test_model import *
    from toolkeel_compat.pydantic_ai.toolsets import *
    from toolkeel_compat.pydantic_ai.usage import *
else:
    _door = _lazy_exports.door(__name__, EXPORTS)
    _, __dir__, __all__ = _door
    __getattr__ = make_module_getattr("Pydantic AI", REPLACEMENTS, _door)
