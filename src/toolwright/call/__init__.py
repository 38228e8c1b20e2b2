"""2. A call becomes a message."""
