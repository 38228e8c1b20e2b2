"""1. A function becomes a tool."""
