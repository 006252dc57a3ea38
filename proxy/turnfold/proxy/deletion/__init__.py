"""Deleting what is kept of a tenant or a conversation, in every process."""
