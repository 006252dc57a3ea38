"""Encryption of what the store keeps."""
