"""What a text is made of: kinds of content, blocks, sentences, statements, names, words, and what messages do in a dialogue.

Nothing is shortened or quoted here: ``shorten`` and ``recall`` do that.
"""
