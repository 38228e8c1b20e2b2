"""Other libraries' names over this core: tools come along with their import lines changed."""
