"""Tools of and for other processes, by the Model Context Protocol."""
