"""Models of agents, under the names of the OpenAI Agents SDK.

custom_models  custom models: classes with ``get_response`` and ``stream_response``
requests       steps around requests: prompts, input filters, results of tools as the output
strict_schema  JSON Schemas in the strict form of tools and output types
scripted       a model for tests that returns scripted replies
named          models by name: bare ones are OpenAI's
"""
