"""Names: people, organisations, products, amounts and dates of a text, which a summary should not lose.

They are found by script and language. How much they matter is decided in ``shorten``; figures that must be copied exactly are in
``text.figures``.
"""
