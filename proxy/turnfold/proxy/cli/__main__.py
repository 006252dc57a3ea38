"""``python -m turnfold.proxy.cli``.

Lives here: the call. Does not belong here: anything else.
"""

from __future__ import annotations

from turnfold.proxy.cli import main

main()
