"""Works that are asked for as a whole."""
