"""Exchanges of one kind that a question needs all of: entries, answers of one form, lessons, moves, earlier suggestions.

Such questions are recognised in ``text.dialogue.wanted``; ``asked_whole`` decides in which order things are looked for.
"""
