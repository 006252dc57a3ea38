"""What Turnfold's own API does, without HTTP: ``routes`` has that."""
