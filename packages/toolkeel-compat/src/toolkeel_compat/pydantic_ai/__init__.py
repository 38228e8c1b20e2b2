"""Pydantic AI's names over this core: change the import lines, keep agents and tools.

names               which module exports each name, and replacements for missing names
usage               `RunUsage` and `UsageLimits`
context             `RunContext`: a tool's view of its run
media               pictures and files in prompts: `BinaryContent`, `ImageUrl`, `DocumentUrl`
messages            messages with parts: `ModelRequest`, `ModelResponse`
exceptions          `ModelRetry`, `ApprovalRequired`, and the exceptions that end a run
retries             how often the model may correct calls of a tool
failures            what a model reads of its failed calls
history_processors  `ProcessHistory`: functions that change the history before each request
toolsets            tools of functions that take a `RunContext` or nothing: `Tool`, `FunctionToolset`
deferred            calls that wait: `DeferredToolRequests`, `DeferredToolResults`
models              vendors' models and their settings, `TestModel`, `FunctionModel`
output              output types, functions and validators
options             options of agents and runs, `Caching`
result              `AgentRunResult`, `StreamedRunResult`
agent               `Agent` with its decorators
ag_ui               `AGUIAdapter`: agents for front ends that speak AG-UI
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
    from toolkeel_compat.pydantic_ai.history_processors import *
    from toolkeel_compat.pydantic_ai.media import *
    from toolkeel_compat.pydantic_ai.messages import *
    from toolkeel_compat.pydantic_ai.models.function_model import *
    from toolkeel_compat.pydantic_ai.models.settings import *
    from toolkeel_compat.pydantic_ai.models.test_model import *
    from toolkeel_compat.pydantic_ai.models.vendors import *
    from toolkeel_compat.pydantic_ai.options import *
    from toolkeel_compat.pydantic_ai.output.types import *
    from toolkeel_compat.pydantic_ai.result import *
    from toolkeel_compat.pydantic_ai.toolsets import *
    from toolkeel_compat.pydantic_ai.usage import *
else:
    _door = _lazy_exports.door(__name__, EXPORTS)
    _, __dir__, __all__ = _door
    __getattr__ = make_module_getattr("Pydantic AI", REPLACEMENTS, _door)
