"""Guardrails, under the names of the OpenAI Agents SDK.

tool_guardrails   those of tools, as classes or decorated functions, and what they say
agent_guardrails  those of agents: what is said to one, and what it answers
"""
