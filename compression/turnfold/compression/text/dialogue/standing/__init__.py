"""Standing orders: what a user wants done from now on, in every turn, and sentences that limit or shape what is done.

Finding such sentences is all that happens here. Other acts of messages are in ``text.dialogue``, the words in ``text.lexicon``.
"""
