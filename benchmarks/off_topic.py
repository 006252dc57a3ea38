"""What is quoted for questions about nothing that the conversation says: tokens that buy nothing.

    EVALUATION_SHARED=../shared python -m benchmarks.off_topic [--half 0|1]

The first messages of other people's chats, and questions about encyclopedia articles, are asked at the end of long conversations
about other things, at gpt-4o's cache prices and without a budget. `--half` asks the other half of them.

Questions about the conversation are measured in ``recall_offline``.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from typing import Any, Final

from benchmarks.support.data import evalkit, shared_directory
from turnfold.compression.fold import fold_request
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions

#: Sets of long conversations, and how many of each.
CONVERSATIONS: Final = {"NC_locomo": 2, "longmemeval": 1, "qmsum_turns": 2, "code_agent": 3}
_CHATS: Final = ("chat_mtbench", "chat_oasst", "chat_sharegpt")
_LONG: Final = 45_000  # characters of a conversation
_SHORT: Final = 400  # characters of a question
_OPTIONS: Final = FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0))
Message = dict[str, Any]


def conversations(data: str) -> list[tuple[str, list[Message]]]:
    """Long conversations, each up to its last answer."""
    found: list[tuple[str, list[Message]]] = []
    for name, most in CONVERSATIONS.items():
        sizes: set[int] = set()
        for case in evalkit().load(data, name):
            end = max(
                (i + 1 for i, m in enumerate(case["messages"]) if m["role"] == "assistant" and not m.get("tool_calls")), default=0
            )
            size = len(json.dumps(case["messages"][:end]))
            if size > _LONG and size not in sizes and len(sizes) < most:
                sizes.add(size)
                found.append((name, case["messages"][:end]))
    return found


def questions(data: str, half: int) -> list[str]:
    """One half of the questions."""
    kit = evalkit()
    first = [case["messages"][0] for name in _CHATS for case in kit.load(data, name)]
    found = [m["content"] for m in first if m["role"] == "user" and len(m["content"]) < _SHORT]
    found += [case["messages"][-1]["content"].strip().split("\n")[-1] for case in kit.load(data, "rag_nq")]
    random.Random(5).shuffle(found)
    return found[half::2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", type=int, choices=(0, 1), default=0)
    half = parser.parse_args().half
    data = str(shared_directory())
    asked, means = questions(data, half), []
    for name, messages in conversations(data):
        memo, quoted, before = Memo(), [], 0
        for question in asked:
            body = json.dumps({"model": "gpt-4o", "messages": [*messages, {"role": "user", "content": question}]}).encode()
            folded = fold_request(body, _OPTIONS, memo)
            before = folded.tokens_before
            quoted.append(folded.recalls[len(messages)].tokens if len(messages) in folded.recalls else 0)
        means.append(statistics.fmean(quoted))
        print(
            f"{name} {before} tokens: mean {means[-1]:.0f}, median {statistics.median(quoted):.0f}, most {max(quoted)}",
            flush=True,
        )
    print(f"{len(asked)} questions, mean of {len(means)} conversations: {statistics.fmean(means):.0f} tokens")


if __name__ == "__main__":
    main()
