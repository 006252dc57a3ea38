"""Units: the runs of messages that are kept or folded together, and which of them are kept for each other's sake.

``unit`` is the value, ``reading`` makes one of messages, and ``grouping`` divides a conversation into them. Everything else looks
at units only, never at texts. Where borders fall is decided in ``replay``.
"""
