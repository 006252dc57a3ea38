"""The flags that ``turnfold serve`` and ``turnfold run`` share.

Their types and help texts. What a command does with them, and flags of a single command, are in the command's own file.
"""

from __future__ import annotations

from typing import Annotated

import typer

UpstreamFlag = Annotated[
    str | None, typer.Option(help="Base URL of the provider, for example https://api.openai.com/v1 (TURNFOLD_UPSTREAM_URL).")
]
StoreFlag = Annotated[
    str | None, typer.Option(help="Store: sqlite:///path, redis://, memory:// or none:// (TURNFOLD_STORE_URL).")
]
ModeFlag = Annotated[
    str | None, typer.Option(help="on: fold; observe: only record what folding would save; off (TURNFOLD_MODE).")
]
