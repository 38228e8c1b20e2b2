"""Passages of a text that a model quotes, not always exactly.

indentation      finding lines at another indentation
similar_passage  the passage most similar to one that was not found
normalized       texts in a normalized form, and where a passage occurs in them
merged           a replacement in which all that it repeats is as in the file
"""
