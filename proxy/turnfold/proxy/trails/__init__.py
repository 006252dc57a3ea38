"""Fingerprints of requests: how far one repeats another, told without keeping either."""
