"""Whom an agent asks, under the names of the OpenAI Agents SDK.

custom_models  models of a program's own: classes with ``get_response`` and ``stream_response``
requests       what stands around requests: prompts, filters, when results of tools are the answer
scripted       a model for tests that says what it was told to
named          models by their names: bare ones are OpenAI's
"""
