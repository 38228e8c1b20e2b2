"""Ready middleware, under LangChain's names.

limits           limits on calls of models and tools
retries          retries, other models, a to-do list
summarization    `SummarizationMiddleware`: a summary in place of older messages
context_editing  `ContextEditingMiddleware`: old results of tools leave the requests
pii              `PIIMiddleware`: personal data is replaced, masked, hashed or refused
"""
