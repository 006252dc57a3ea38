"""The neutral conversation, and edits of the body that it was read from.

Only ``wire.formats`` knows the keys of a request format.
"""
