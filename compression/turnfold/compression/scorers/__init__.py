"""Which sentences of a text matter: one scorer per file, its source cited."""
