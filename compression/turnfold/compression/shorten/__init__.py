"""How one text gets shorter: a rule for each kind of content, and the choice of what stays."""
