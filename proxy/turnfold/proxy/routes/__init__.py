"""Turnfold's own routes: a request is parsed, a part is called, its result is rendered."""
