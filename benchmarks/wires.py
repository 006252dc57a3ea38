"""Odd sessions of the three wires, folded and recovered, against the providers' rules.

    python -m benchmarks.wires --sessions 200 [--seed 0] [--turns 8] [--wires chat messages]

It is the deep run of what ``tests/compression/fold/test_wild_sessions.py`` does with a few. Sessions are in
``tests.support.wild_sessions``, rules in ``tests.support.provider_rules``.

Every session is folded under each of the settings, request by request as it grows, and its last requests are made to fit three
windows. A fault is printed with what makes it again; the last line has the number of cases and of faults.
"""

from __future__ import annotations

import argparse
import json
import time

from tests.support.provider_rules import refusals
from tests.support.wild_runs import SETTINGS, fold_faults, recovery_faults
from tests.support.wild_sessions import Session, requests, session

_SHOWN = 300  # characters of a fault


def _faults(made: Session) -> list[str]:
    own = [
        f"{made.wire} {made.seed}: not taken as it is, {fault}"
        for _, body in requests(made)
        for fault in refusals(made.wire, body)
    ]
    if own:
        return own[:1]
    return [*(fault for setting in SETTINGS for fault in fold_faults(made, setting)), *recovery_faults(made)]


def main() -> None:
    """Print faults, and a line of JSON for each wire."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=50, help="of each wire")
    parser.add_argument("--seed", type=int, default=0, help="of the first session")
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--wires", nargs="+", default=["chat", "messages", "responses"])
    chosen = parser.parse_args()
    for wire in chosen.wires:
        begun, sent, faulty = time.process_time(), 0, 0
        for seed in range(chosen.seed, chosen.seed + chosen.sessions):
            made = session(wire, seed, chosen.turns)
            found = _faults(made)
            sent += len(made.ends) * len(SETTINGS)
            faulty += bool(found)
            for fault in found[:3]:
                print(fault[:_SHOWN], flush=True)
        row = {"wire": wire, "sessions": chosen.sessions, "requests": sent, "sessions with a fault": faulty}
        print(json.dumps(row | {"processor seconds": round(time.process_time() - begun)}), flush=True)


if __name__ == "__main__":
    main()
