"""``python -m turnfold.proxy.cli``."""

from __future__ import annotations

from turnfold.proxy.cli import main

main()
