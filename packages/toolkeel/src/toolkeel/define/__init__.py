"""1. A function becomes a tool (tool definition): signature → schema → validator → `Tool`.

names               what a tool may be called, here and by each provider
similar_tool_names  which tool a wrong name means: the mending of names a model got nearly right
reading             what the author wrote: docstring, signature, annotations
inject              parameters the model never sees, filled at run time (dependency injection)
subschemas          where the schemas within a schema are
secret              arguments no one but the body shall see (masking)
schema              the JSON Schema the model sees, and the validator that accepts
returns             what a tool promises about its result (output schema)
explain             what was wrong with arguments, in words
dialect             JSON Schema → what a provider takes, and what was lost
import_definition   tool definitions in anybody's form, read
mutable_defaults    mutable defaults, made anew for each call
compile             the one way from a callable to all a tool must know
executor_names      executors by their names
options             what a tool's options may be, checked where it is defined
invoker             how a tool runs outside a toolset: set by the package, since `define` is below `call`
tool                `Tool`, the one record; `Step`, the one extension point
decorator           ``@tool``
folder_tools        tools that work in a folder, made again for another folder
tool_mistakes       what is reported when something that is no tool is passed as one
base_tool           `BaseTool`: tools written as classes
output_type         a type becomes the form of an answer (structured output)
"""
