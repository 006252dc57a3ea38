"""Kinds of content, each with the rule by which it gets shorter: logs, diffs, code, JSON, tables, traces.

Lives here: a file for each kind. Does not belong here: which kind a text has (``text.kinds``), which rule it gets (``registry``),
prose (``shorten.prose``).
"""
