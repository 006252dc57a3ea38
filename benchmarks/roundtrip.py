"""Reversible compression of messages: ratios by kind of conversation, random round trips, time.

    python -m benchmarks.roundtrip ratios [--limit N]      # evaluation data (EVALUATION_SHARED), recency_window 4
    python -m benchmarks.roundtrip trips [--count 10000]   # random conversations there and back
    python -m benchmarks.roundtrip figures [--limit N]     # figures, identifiers, versions, paths, URLs that are kept by default
    python -m benchmarks.roundtrip budgets                 # 80 messages with fences at budgets of 98.5% and less
    python -m benchmarks.roundtrip speed [--quick]         # 4,000 messages under budgets, tool traffic, 100,000 messages

Published beside it: context-compression-engine's own scenarios (coding 1.94, long Q&A 4.90, tool-heavy 1.40, short 1.00, deep
2.50, technical 1.00, structured 1.86, agentic 1.48; mean 2.01, by characters). Its cases are not ours: kinds are compared.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from typing import Any, Final, NamedTuple

from benchmarks.support.data import conversations, shared_directory
from turnfold.compression import CompressOptionsDict, compress, default_token_counter, strip_provenance, tokens, uncompress
from turnfold.compression.roundtrip.values import readable, texts_of

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


def _set_names() -> list[str]:
    names = {path.name.removesuffix(".jsonl").removesuffix(".conversations") for path in shared_directory().glob("*.jsonl")}
    return sorted(name for name in names if not name.endswith(".questions"))


def ratios(limit: int | None) -> None:
    """Print a table: mean ratios of every set, of its long conversations, and of all long ones."""
    long: dict[str, list[Ratio]] = {}
    print("| set | like | conversations | ratio, characters / tokens | long ones | their ratio |")
    print("|---|---|---|---|---|---|")
    for name in _set_names():
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


# --- figures ----------------------------------------------------------------------------------------------------------

#: What has to be copied exactly, by patterns of this page's own, so that the engine is not asked about itself.
PATTERNS: Final = {
    "figures": re.compile(r"(?<![\w.])\d+(?:[.,:]\d+)*%?"),
    "URLs": re.compile(r"https?://[^\s)>\]\"'`,;]+[\w/]"),
    "paths": re.compile(r"(?<![\w/:.])(?:~|\.{1,2})?/?(?:[\w.-]+/)+[\w-]+(?:\.\w+)+"),
    "identifiers": re.compile(r"\b[A-Za-z]+_\w+\b|\b[a-z]+[A-Z]\w*\b"),
    "versions": re.compile(r"\bv\d+(?:\.\d+)*\b|\b\d+\.\d+\.\d+\b"),
}


def _text(messages: Iterable[Any]) -> str:
    return "\n".join(text for message in messages if isinstance(message, dict) for _, text in texts_of(message))


def figures(limit: int | None) -> None:
    """Print how many distinct ones of each kind stand in what `compress` leaves by default, by set and in all."""
    kept = dict.fromkeys(PATTERNS, 0)
    there = dict.fromkeys(PATTERNS, 0)
    for name in _set_names():
        left = whole = 0
        rows = []
        for messages in conversations(name)[:limit]:
            result = compress(messages)
            rows.append(result.compression.ratio)
            before, after = _text(messages), _text(strip_provenance(result.messages))
            for kind, pattern in PATTERNS.items():
                found = set(pattern.findall(before))
                held = found & set(pattern.findall(after))
                held |= {one for one in found - held if one in after}
                there[kind] += len(found)
                kept[kind] += len(held)
                left, whole = left + len(held), whole + len(found)
        print(
            f"{name:26} {len(rows):4} conversations, {left:6} of {whole:6} kept, mean ratio {statistics.mean(rows):.2f}",
            flush=True,
        )
    print("; ".join(f"{kind} {kept[kind]:,} of {there[kind]:,}" for kind in PATTERNS))


def budgets() -> None:
    """Print what is left of 80 messages of prose with a fence each, as the budget gets smaller."""
    said = (
        f"Step {n} of the plan is written down here so that everybody can find it again.\n\n```python\n"
        + "\n".join(f"    step_{n}_{k} = run({n}, {k})" for k in range(11))
        + "\n```"
        for n in range(80)
    )
    messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)]
    whole = sum(map(default_token_counter, messages))
    for share in (1.0, 0.985, 0.8, 0.7, 0.6, 0.5, 0.2):
        result = compress(messages, {"token_budget": int(share * whole), "force_converge": True})
        fences = sum("```" in message["content"] for message in result.messages)
        print(f"budget {int(share * whole):,}: {result.token_count:,} tokens, {fences} fences, fits {result.fits}")


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
        options: CompressOptionsDict = {
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


_PLAIN: Final = (
    "the a of to and in that it was for on with as at by from this which be are had but they his her their one all there "
    "what up  out when make can like time him know people into year your good some could them see other than then look only "
    "come over think  back after two how work first well way even new want any day most us pump valve pressure river "
    "teacher market company window  garden meeting letter engine story summer question answer evening morning "
)


def prose(count: int, size: int = 700) -> list[Message]:
    """Messages of sentences of 8 to 18 words, a name or a figure in some."""
    rng = random.Random(1)
    plain = _PLAIN.split()

    def sentence() -> str:
        said = [rng.choice(plain) for _ in range(rng.randint(8, 18))]
        if rng.random() < 0.25:
            said[rng.randrange(1, len(said))] = rng.choice(("Anna", "Berlin", "Mara", "Oslo", "Acme", "Kafka"))
        if rng.random() < 0.2:
            said[rng.randrange(1, len(said))] = str(rng.randint(2, 900))
        return f"{' '.join(said).capitalize()}{rng.choice('.....?!')}"

    def text() -> str:
        said: list[str] = []
        while sum(map(len, said)) + len(said) < size:
            said.append(sentence())
        return " ".join(said)

    return [{"role": ("user", "assistant")[n % 2], "content": text()} for n in range(count)]


def _results() -> Iterator[str]:
    """Logs, JSON, search hits and code, in turn."""
    rng = random.Random(1)
    for i in range(1_000_000):
        time_of = f"2026-01-01 10:{i % 60:02}"
        yield "".join(
            f"{time_of}:{n:02} INFO worker-{n % 9} request {i * 99 + n} took {rng.randint(1, 900)} ms\n" for n in range(40)
        )
        yield json.dumps([{"id": i * 50 + n, "name": f"item {n}", "price": rng.random(), "tags": ["a", "b"]} for n in range(40)])
        yield "".join(f"src/mod{n % 7}/file{n}.py:{n * 3}: def handler_{rng.randint(1, 99)}(request):\n" for n in range(40))
        yield "\n".join("    " * (n % 3) + f"value_{n} = compute({rng.randint(1, 99)}, name='x{n}')" for n in range(60))


def tool_traffic(characters: int) -> list[Message]:
    """An agent's calls and results, a user's word now and then."""
    messages: list[Message] = [{"role": "user", "content": "Find the bug in the service."}]
    for i, text in enumerate(_results()):
        if characters <= 0:
            break
        characters -= len(text)
        function = {"name": "run", "arguments": json.dumps({"command": f"cat {i}"})}
        messages.append(
            {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{i}", "type": "function", "function": function}]}
        )
        messages.append({"role": "tool", "tool_call_id": f"c{i}", "content": text})
        if i % 10 == 9:
            messages.append({"role": "user", "content": "Go on with the next file, please."})
    return messages


def _time(what: str, messages: Sequence[Message], share: float | None, runs: int) -> None:
    whole = sum(map(default_token_counter, messages))
    budget = None if share is None else int(share * whole)
    best, result = 1e9, None
    for _ in range(runs):
        started = time.process_time()
        result = compress(messages, {"token_budget": budget})
        best = min(best, time.process_time() - started)
    assert result is not None
    fits = "" if budget is None else f", budget {budget:,}: {result.token_count:,} tokens, fits {result.fits}"
    print(f"{what}, {whole:,} tokens{fits}: {best:.2f} s", flush=True)


def speed(*, quick: bool) -> None:
    """Print seconds of processor time: the best of three runs."""
    for share in (None, 0.5):
        _time("4,000 messages of 700 bytes of prose", prose(4000), share, 3)
    for share in (None, 0.8, 0.5, 0.2):
        _time("1.2 MB of tool traffic", tool_traffic(1_200_000), share, 3)
    if quick:
        return
    for count in (4000, 100_000):
        for share in (None, 0.5, 0.1, 0.01):
            _time(f"{count:,} short messages", chat(count), share, 3 if count < 10_000 else 1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("ratios", "figures", "budgets", "trips", "speed"))
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--quick", action="store_true", help="speed: without the 4,000 and 100,000 short messages")
    given = parser.parse_args(arguments)
    if given.what == "ratios":
        ratios(given.limit)
    elif given.what == "figures":
        figures(given.limit)
    elif given.what == "budgets":
        budgets()
    elif given.what == "trips":
        trips(given.count)
    else:
        speed(quick=given.quick)


if __name__ == "__main__":
    main()
