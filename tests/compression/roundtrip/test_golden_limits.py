"""Runs of messages around every limit of a level, and results restored from several (``tests.support.golden`` says when to write
the file anew)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support import golden, small_talk
from turnfold.compression import CompressOptions, compress, uncompress
from turnfold.compression.roundtrip.values import Results

FILES = Path(__file__).parent / "golden"


def _run(number: int, total: int, roles: tuple[str, ...] = ("user", "assistant")) -> list[golden.Message]:
    """So many messages that have so many characters together."""
    found = []
    for i in range(number):
        size = total // number + (total % number if i == number - 1 else 0)
        said = f"In bay {i} the pump of Anna ran for {i} hours. However, nobody paid. It rained and the boats came late. "
        found.append({"role": roles[i % len(roles)], "content": (said * (1 + size // 90))[: size - 1] + "."})
    return found


def test_runs_of_every_size() -> None:
    """As many messages or characters as one summary may stand for, one less, one more."""
    lines = []
    sizes = (
        *((number, 100 * number) for number in (1, 2, 3, 47, 48, 49, 129)),
        *((number, total) for number in (31,) for total in (23_998, 23_999, 24_000, 24_001, 24_600)),
        *((number, number * size) for number in (4, 5) for size in (119, 120, 121, 199, 200, 201, 5999, 6000, 6001, 12_000)),
    )
    for number, total in golden.some(sizes, 2):
        for roles in (
            (("user", "assistant"), ("user",), ("assistant", "user", "user"))
            if total < 9000 and number < 50
            else (("user", "assistant"),)
        ):
            messages = _run(number, total, roles)
            budgets: tuple[dict[str, Any], ...] = (
                ({}, {"token_budget": total // 12, "force_converge": True}) if total < 9000 else ({},)
            )
            for options in budgets:
                made = compress([*messages, *small_talk.chat(2)], CompressOptions(recency_window=2, trace=True, **options))
                actions = " ".join(f"{one.action[:2]}{one.after}" for one in made.trace or ())
                lines.append(f"{number} {total} {len(roles)} {made.fits}: {actions[:90]} {golden.name_of(made.messages)}")
    golden.agrees_in(FILES / "limits.txt", lines)


def test_results_of_several_generations() -> None:
    """Each compressed again with what was said since; of the last, messages left out, restored one level up or to the ground."""
    messages, results, lines = [*small_talk.talk(9, "The code is R-0417.", 4)], [], list[str]()
    for generation in range(4):
        made = compress([*messages, *small_talk.talk(5, f"Bay {generation} is free.", 2)], {"recency_window": 1})
        messages = list(made.messages)
        results.append(made)
    store = Results({one.result_id: one.verbatim for one in results})
    for out in range(len(messages) + 1):
        left = [*messages[:out], *messages[out + 1 :]]
        for recursive in (False, True):
            for some in (store, Results({one.result_id: one.verbatim for one in results[::2]}), results[-1].verbatim):
                back = uncompress(left, some, recursive=recursive)
                ids = [len(one) for one in (back.missing_ids, back.edited_ids, back.deleted_ids)]
                counts = f"{back.messages_expanded} {back.messages_passthrough} {len(back.messages)}"
                lines.append(f"{out} {recursive}: {counts} {ids} {golden.name_of(back.as_dict())}")
    golden.agrees(FILES / "generations.txt", lines)
