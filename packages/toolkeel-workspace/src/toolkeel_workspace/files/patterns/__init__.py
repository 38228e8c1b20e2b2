"""Regular expressions that a model writes.

linear_regex         untrusted regular expressions, matched in linear time
impossible_patterns  patterns that can never match a single line
"""
