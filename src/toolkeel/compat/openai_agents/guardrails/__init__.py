"""Guardrails, under the names of the OpenAI Agents SDK.

verdicts          what those of tools say: allow, reject, raise
tool_guardrails   those of tools, as classes or decorated functions
agent_guardrails  those of agents: what is said to one, and what it answers
"""
