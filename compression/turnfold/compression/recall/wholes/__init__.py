"""Wholes: things that a question needs completely, because a few passages would be useless.

There is a file for each: works that the conversation made, all rows of a table, parts named by their place, a record of JSON, an
agent's plan. Such questions are recognised in ``text.dialogue.wanted``; passages that bear on a question are ranked in
``recall.ranking``, and ``recall.quote_choice`` counts how much fits.
"""
