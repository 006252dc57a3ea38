"""Names: people, organisations, products, amounts and dates of a text, which a summary should not lose.

Lives here: finding them, by script and language. Does not belong here: how much they matter (``shorten``), figures that must be
copied exactly (``text.figures``).
"""
