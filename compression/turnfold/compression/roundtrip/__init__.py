"""Reversible compression of messages: shorter messages together with their originals, and the way back."""
