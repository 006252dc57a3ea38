"""Calls of a model that Turnfold makes itself, within limits of time and money."""
