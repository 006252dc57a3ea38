"""Parts of what was handed over that a question names: of code, of a document, of data, of what was said at a time."""
