"""Models, under the names of Pydantic AI.

settings        `ModelSettings`, as the core's settings
vendors         a vendor's models and where they are: `OpenAIChatModel`, `OpenAIProvider`
test_model      `TestModel`: calls each tool once, then answers
function_model  `FunctionModel`: a function answers
"""
