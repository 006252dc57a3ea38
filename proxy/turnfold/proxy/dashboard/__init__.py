"""The dashboard: who may see it, what it shows, and its page."""
