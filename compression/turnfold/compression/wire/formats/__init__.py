"""The three request formats: Chat Completions, Responses and Messages.

Each format reads a body into a neutral ``Conversation``, writes changes back into that body's own text, and words Turnfold's own
answers. Nothing above this package knows a key of any format.
"""
