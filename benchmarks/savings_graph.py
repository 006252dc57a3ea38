"""The graph of the README: tokens of each request of ``turnfold demo``, as the client sends it and as it is forwarded.

    python -m benchmarks.savings_graph          # writes docs/savings.svg

It draws the graph; the demo makes the figures.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_TARGET: Final = Path(__file__).resolve().parent.parent / "docs" / "savings.svg"
_WIDTH, _HEIGHT = 720, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 150, 16, 36
_STEP: Final = 2_000  # tokens between two lines of the grid


def played() -> list[dict[str, int]]:
    """The turns of the demo, each with the tokens that came (``raw``) and went on (``sent``)."""
    found = subprocess.run([str(Path(sys.executable).with_name("turnfold")), "demo", "--json"], capture_output=True, check=True)
    turns: list[dict[str, int]] = json.loads(found.stdout)["turns"]
    return turns


def drawn(turns: Sequence[dict[str, int]]) -> str:
    """The graph as SVG; its colours are legible on light and on dark pages."""
    top = max(turn["raw"] for turn in turns)

    def x(number: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * number / (len(turns) - 1), 1)

    def y(tokens: float) -> float:
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * tokens / top, 1)

    def line(key: str, colour: str, name: str) -> str:
        points = " ".join(f"{x(i)},{y(turn[key])}" for i, turn in enumerate(turns))
        end = f'<text x="{x(len(turns) - 1) + 8}" y="{y(turns[-1][key]) + 4}" fill="{colour}">{name}</text>'
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2.5"/>{end}'

    grid = "".join(
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(tokens)}" y2="{y(tokens)}" stroke="#8884"/>'
        f'<text x="{_LEFT - 8}" y="{y(tokens) + 4}" text-anchor="end">{tokens:,}</text>'
        for tokens in range(0, top + 1, _STEP)
    )
    said = "Tokens of each request of a conversation of " + f"{len(turns)} requests: without Turnfold they grow to {top:,}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="13" '
        f'fill="#808080" role="img"><title>{said}, with it to {turns[-1]["sent"]:,}</title>{grid}'
        f"{line('raw', '#b45309', 'as the client sends it')}{line('sent', '#0f8a6d', 'as Turnfold sends it')}"
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">tokens of requests 1 to {len(turns)}'
        "</text></svg>\n"
    )


def main() -> None:
    """Play the demo and draw it."""
    _TARGET.write_text(drawn(played()), encoding="utf-8")


if __name__ == "__main__":
    main()
