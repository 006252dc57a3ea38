"""Wholes: things that a question needs completely, because a few passages would be useless.

Lives here: a file for each: works that the conversation made, all rows of a table, parts named by their place, a record of JSON,
an agent's plan. Does not belong here: telling such questions (``text.dialogue.wanted``), passages that bear on a question
(``recall.ranking``), how much fits (``recall.quote_choice``).
"""
