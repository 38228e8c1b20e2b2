"""JSON Schema → what a provider accepts, with a report of what was lost."""

from toolwright.define.dialect.compiler import Compiled, compile_schema, restore_keys
from toolwright.define.dialect.facts import Loss, Target

__all__ = ["Compiled", "Loss", "Target", "compile_schema", "restore_keys"]
