"""1. A function becomes a tool (tool definition): signature → schema → validator → `Tool`.

names               what a tool may be called, here and by each provider
similar_tool_names  the tools whose names a wrong name resembles
reading             readers of a function's docstring, signature and annotations
inject              parameters the model never sees, filled at run time (dependency injection)
subschemas          the schemas inside a schema
text_patterns       patterns of texts, and their words in messages
secret              masking of secret arguments
schema              the JSON Schema the model sees, and the validator that accepts
returns             output schemas of tools
explain             what was wrong with arguments, in words
dialect             JSON Schema in the form that a provider accepts, with the losses
import_definition   readers of other programs' tool definitions
mutable_defaults    mutable defaults, made anew for each call
compile             compiles a callable to a tool's facts
executor_names      executors by name
options             checks of a tool's options
invoker             how a tool runs outside a toolset: set by the package, since `define` is below `call`
tool                `Tool`, the one record; `Step`, the one extension point
decorator           ``@tool``
folder_tools        tools that work in a folder, made again for another folder
tool_mistakes       error texts for values that are no tool
base_tool           `BaseTool`: tools written as classes
output_type         output types of answers (structured output)
"""
