"""Sentence vectors for recall: encoders, vectors of messages, and the decisions made with them."""
