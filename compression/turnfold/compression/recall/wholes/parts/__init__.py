"""Named parts of pasted material: of code, of a document, of data, of a time."""
