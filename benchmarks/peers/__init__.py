"""One file a library."""
