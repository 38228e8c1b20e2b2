"""Whom an agent asks, under the names of the OpenAI Agents SDK.

custom_models  models of a program's own: classes with ``get_response`` and ``stream_response``
model_input    prompts kept at OpenAI, and filters of what a model sees
scripted       a model for tests that says what it was told to
named          models by their names: bare ones are OpenAI's
"""
