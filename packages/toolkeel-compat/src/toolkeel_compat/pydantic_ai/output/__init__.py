"""Outputs of agents, under the names of Pydantic AI.

functions   functions whose arguments are the answer
validators  what functions make of an answer
prompted    answers as JSON that the instructions ask for
types       the core's output type of types, functions, lists and unions: `ToolOutput`, `NativeOutput`
"""
