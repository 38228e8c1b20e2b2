"""Where bodies and commands run beyond the event loop."""
