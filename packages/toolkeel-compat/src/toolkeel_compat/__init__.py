"""Other libraries' names over this core: tools come along with their import lines changed.

langchain        LangChain's names: `tool`, `BaseTool`, `ToolNode`, `create_agent`
openai_agents    the OpenAI Agents SDK's names: `function_tool`, `Runner`, guardrails, hosted tools
bridges          tool objects of other libraries become ours, and ours theirs
openapi          tools from an OpenAPI document
migrate          programs of other libraries: imports rewritten, what has no counterpart said
content_blocks   one reader for parts of messages and results, and one writer
check_options    what programs give: options that are known or refused, functions to await
missing          names of another library that are not here: each import says what to write instead
"""
