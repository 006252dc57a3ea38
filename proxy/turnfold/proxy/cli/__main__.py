"""``python -m turnfold.proxy.cli``.

Lives here: the call. Must not: anything else.
"""

from __future__ import annotations

from turnfold.proxy.cli import main

main()
