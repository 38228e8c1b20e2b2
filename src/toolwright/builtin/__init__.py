"""8. Tools ready to use, one subject a file."""
