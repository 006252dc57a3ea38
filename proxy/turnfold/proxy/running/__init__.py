"""``turnfold run``: a proxy for as long as one command runs.

Lives here: which upstreams the environment names, the proxy in a thread, the command with its environment and signals, the
figures at the end. Does not belong here: options of the command line (``cli.run``), how requests are served.
"""
