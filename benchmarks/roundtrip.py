"""Reversible compression of messages: ratios by kind of conversation, random round trips, time.

    python -m benchmarks.roundtrip ratios [--limit N]      # evaluation data (TURNFOLD_SHARED), recency_window 4
    python -m benchmarks.roundtrip trips [--count 10000]   # random conversations there and back
    python -m benchmarks.roundtrip speed                   # 4,000 messages under budgets, 100,000 messages

Published beside it: context-compression-engine's own scenarios (coding 1.94, long Q&A 4.90, tool-heavy 1.40, short 1.00, deep
2.50, technical 1.00, structured 1.86, agentic 1.48; mean 2.01, by characters). Its cases are not ours: kinds are compared.

Lives here: the measurement. Does not belong here: anything that the engine needs.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Any, Final, NamedTuple

from benchmarks.support.data import conversations, shared_directory
from turnfold.compression import compress, default_token_counter, strip_provenance, tokens, uncompress
from turnfold.compression.roundtrip.values import readable

Message = dict[str, Any]

LONG: Final = 4000  # tokens from which a conversation counts as long
#: What each evaluation set is like in the words of the published table; "" for kinds that it does not have.
KINDS: Final = {
    "agent_tau": "tool-heavy 1.40",
    "agent_repeated_ids_raw": "tool-heavy 1.40",
    "chat_code_aider": "coding 1.94",
    "chat_mtbench": "short 1.00",
    "chat_oasst": "short 1.00",
    "code_agent": "agentic 1.48",
    "longmemeval": "long Q&A 4.90",
    "NC_locomo": "deep 2.50",
    "tool_output": "structured 1.86",
    "tool_output_kv": "structured 1.86",
}


class Ratio(NamedTuple):
    """One conversation: its tokens (o200k), and before by after, in characters and tokens of what is sent."""

    tokens: int
    characters: float
    by_tokens: float


def ratio_of(messages: Sequence[Message]) -> Ratio:
    """Compress with the defaults and hold the result against the original.

    Raises:
        AssertionError: it does not come back as it was.
    """
    result = compress(messages)
    assert json.dumps(uncompress(result).messages) == json.dumps(list(messages)), "not restored"
    before, after = (sum(3 + tokens.count(readable(m)) for m in some) for some in (messages, strip_provenance(result.messages)))
    return Ratio(before, result.compression.ratio, before / after)


def _mean(rows: Iterable[Ratio]) -> str:
    listed = list(rows)
    if not listed:
        return "-"
    return f"{statistics.mean(r.characters for r in listed):.2f} / {statistics.mean(r.by_tokens for r in listed):.2f}"


def ratios(limit: int | None) -> None:
    """Print a table: mean ratios of every set, of its long conversations, and of all long ones."""
    long: dict[str, list[Ratio]] = {}
    print("| set | like | conversations | ratio, characters / tokens | long ones | their ratio |")
    print("|---|---|---|---|---|---|")
    for name in sorted(
        {path.name.removesuffix(".jsonl").removesuffix(".conversations") for path in shared_directory().glob("*.jsonl")}
    ):
        if name.endswith(".questions"):
            continue
        rows = [ratio_of(messages) for messages in conversations(name)[:limit]]
        long[name] = [row for row in rows if row.tokens >= LONG]
        print(f"| {name} | {KINDS.get(name, '')} | {len(rows)} | {_mean(rows)} | {len(long[name])} | {_mean(long[name])} |")
    everything = [row for rows in long.values() for row in rows]
    sets = [
        Ratio(0, statistics.mean(r.characters for r in rows), statistics.mean(r.by_tokens for r in rows))
        for rows in long.values()
        if rows
    ]
    print(f"\nlong conversations: mean of {len(everything)} {_mean(everything)}; mean of {len(sets)} sets {_mean(sets)}")


# --- random round trips -----------------------------------------------------------------------------------------------

_SAID: Final = (
    "We decided not to deploy on Friday.",
    "From now on answer in French.",
    "Pi is 3.14159, see https://example.org/a.b?c=1.",
    "好的，我们决定用 v1.2.3。",
    "Well, well.",
    "```py\nx = {1: 2.50}\n```",
    '{"a": [1, 2.0, null]}',
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "\u2028",
    "",
    "INFO 12:00 served in 3 ms\n" * 30,
)


def random_messages(rng: random.Random) -> list[Any]:
    """A conversation with calls, parts, odd keys, clashing ids, empty contents, texts that stand twice."""
    messages: list[Any] = []
    for n in range(rng.randrange(40)):
        text = rng.choice((" ", "\n\n")).join(rng.choice(_SAID) for _ in range(rng.randrange(12)))
        role = rng.choice(("system", "user", "user", "assistant", "assistant", "tool", "developer", "critic"))
        message: Message = {"role": role, "content": text}
        if rng.random() < 0.3:
            message = {"id": rng.choice(("a", "b", f"m{n}")), "index": n, **message}
        if role == "tool":
            message["tool_call_id"] = f"c{rng.randrange(4)}"
        if rng.random() < 0.2:
            message["content"] = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": "x"}}]
        if role == "assistant" and rng.random() < 0.3:
            function = {"name": "f", "arguments": json.dumps({"x": text})}
            message |= {"content": None, "tool_calls": [{"id": f"c{n}", "type": "function", "function": function}]}
        if rng.random() < 0.1:
            message |= {"metadata": {"mine": 1.0}, "unknown": [None, True, 1e300]}
        messages.append(message)
        if messages and rng.random() < 0.1:
            messages.append(rng.choice(messages))
    return messages + ([None, 7] if rng.random() < 0.05 else [])


def trips(count: int) -> None:
    """Print how many of so many random conversations come back byte for byte, every third compressed twice."""
    rng, good, started = random.Random(20261122), 0, time.process_time()
    for n in range(count):
        messages = random_messages(rng)
        options = {
            "recency_window": rng.randrange(6),
            "token_budget": rng.choice((None, None, 50, 500)),
            "fuzzy_dedup": rng.random() < 0.5,
            "force_converge": rng.random() < 0.5,
            "embed_summary_id": rng.random() < 0.5,
        }
        result = compress(messages, options)
        back = uncompress(result)
        good += json.dumps(back.messages) == json.dumps(messages) and not back.missing_ids
        if n % 3 == 0:
            again = compress(result.messages, {"recency_window": 0})
            store = {**result.verbatim, **again.verbatim}
            good -= json.dumps(uncompress(again.messages, store, recursive=True).messages) != json.dumps(messages)
    print(f"{good:,} of {count:,} restored byte for byte, {time.process_time() - started:.0f} s of processor time")


# --- speed ------------------------------------------------------------------------------------------------------------

_TALK: Final = list(
    permutations(
        (
            "Hello there, nice to talk to you again today.",
            "The weather has been lovely, has it not?",
            "I had soup for lunch and it was quite all right.",
            "Sure, that sounds good to me, thanks a lot.",
            "Let me think about it for a little while.",
        ),
        3,
    )
)


def chat(count: int) -> list[Message]:
    """Distinct messages of about 170 characters."""
    said = (f"Pump {n} held {n % 90} bar at pier {n % 13}. {' '.join(_TALK[n % len(_TALK)])}" for n in range(count))
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)]


def speed() -> None:
    """Print seconds of processor time: the best of three runs."""
    for count in (4000, 100_000):
        messages = chat(count)
        whole = sum(map(default_token_counter, messages))
        for share in (None, 0.5, 0.1, 0.01):
            budget = None if share is None else int(share * whole)
            best, result = 1e9, None
            for _ in range(3 if count < 10_000 else 1):
                started = time.process_time()
                result = compress(messages, {"token_budget": budget})
                best = min(best, time.process_time() - started)
            assert result is not None
            fits = "" if budget is None else f", budget {budget:,}: {result.token_count:,} tokens, fits {result.fits}"
            print(f"{count:,} messages, {whole:,} tokens{fits}: {best:.2f} s")


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("ratios", "trips", "speed"))
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--count", type=int, default=10_000)
    given = parser.parse_args(arguments)
    if given.what == "ratios":
        ratios(given.limit)
    elif given.what == "trips":
        trips(given.count)
    else:
        speed()


if __name__ == "__main__":
    main()
