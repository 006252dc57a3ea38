"""Summaries that a model writes: what is asked, and whether the reply may replace its source."""
