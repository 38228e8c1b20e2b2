"""The tool-calling runtime for LLM agents: define a tool once; any model can call it."""
