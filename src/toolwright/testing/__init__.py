"""Models and fixtures for tests of programs that use tools."""
