"""JSON Schema → what a provider accepts, with a report of what was lost.

provider_facts  what each provider accepts of JSON Schema, as a table
normal_form     any JSON Schema → one plain spelling of it
merge           arithmetic on schemas: both at once, one of several, overlap
conversion      one schema on its way: where it is, what it lost
unions          the structure of one node: references, intersections, unions, null
rewrite_rules   the rules that turn a normal form into what a provider takes
compiler        the entire way, with a report of what was lost
definition      the entire JSON of one tool, as each provider wants it
"""

from toolkeel.define.dialect.compiler import Compiled, compile_schema, restore_keys
from toolkeel.define.dialect.provider_facts import Loss, Target

__all__ = ["Compiled", "Loss", "Target", "compile_schema", "restore_keys"]
