"""``turnfold run``: a proxy for as long as one command runs.

This module finds out which upstreams the environment names, runs the proxy in a thread and the command with its environment and
signals, and prints the figures at the end. The command line's options are in ``cli.run``.
"""
