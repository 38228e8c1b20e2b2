"""Other libraries' names over this core: change the import lines, keep the tools.

langchain        LangChain's names: `tool`, `BaseTool`, `ToolNode`, `create_agent`
openai_agents    the OpenAI Agents SDK's names: `function_tool`, `Runner`, guardrails, hosted tools
pydantic_ai      Pydantic AI's names: `Agent` with its decorators, `RunContext`, `TestModel`
bridges          converts tool objects of other libraries to ours, and ours to theirs
openapi          tools from an OpenAPI document
migrate          rewrites a program's imports and reports names without a counterpart
content_blocks   converts message and result parts of any library to blocks, and back
check_options    rejects unknown options; awaits results that may be awaitable
missing          the `__getattr__` of a compat package: names that are missing, with their replacement
"""
