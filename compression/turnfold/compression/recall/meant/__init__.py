"""What words of a question are meant for: things of a kind, another spelling, initials.

Lives here: a file each. Does not belong here: what they weigh (``recall.question``).
"""
