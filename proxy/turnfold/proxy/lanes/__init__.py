"""Threads and processes for CPU work, shared fairly between tenants."""
