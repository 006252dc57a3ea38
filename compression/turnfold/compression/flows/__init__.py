"""Generators that yield questions to a model and are sent its answers, and what drives them."""
