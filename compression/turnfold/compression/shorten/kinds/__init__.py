"""Kinds of content, each with the rule by which it gets shorter: logs, diffs, code, JSON, tables, traces.

There is one file per kind. Which kind a text has is decided in ``text.kinds``, which rule it gets in ``registry``. Prose is
shortened in ``shorten.prose``.
"""
