"""The parts of a replay's step: its state, what requests cost, fold events with their borders, tables, and who keeps recall.

``fold.replay`` puts them together. All of them see sizes and roles only, never texts.
"""
