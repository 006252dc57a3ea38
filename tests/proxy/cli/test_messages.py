"""``turnfold compress --messages`` and ``turnfold uncompress``, in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.harness import RunCommand
from tests.support.small_talk import talk

MESSAGES = [*talk(30), {"role": "user", "content": "naïve \ud800 end"}]


@pytest.fixture(autouse=True)
def files(run: RunCommand) -> None:
    """Files to compress, in the directory where commands run."""
    del run
    save("m.json", MESSAGES)
    save("request.json", {"model": "gpt-4o", "messages": MESSAGES})


def save(name: str, value: Any) -> None:
    Path(name).write_text(json.dumps(value), "utf-8")


def test_there_and_back(run: RunCommand) -> None:
    for file in ("m.json", "request.json"):
        code, out, err = run("compress", "--messages", file, "--output", "small.json")
        assert (code, out) == (0, "")
        assert "31 messages, now" in err
        assert len(Path("small.json").read_text("utf-8")) > 0
        code, out, _ = run("uncompress", "small.json")
        assert code == 0
        assert json.loads(out) == MESSAGES
    Path("small.json").write_text("\ufeff" + Path("small.json").read_text("utf-8"), "utf-8")  # as an editor on Windows does
    assert run("uncompress", "small.json", "--recursive", "--output", "back.json")[:2] == (0, "")
    assert json.loads(Path("back.json").read_text("utf-8")) == MESSAGES


def test_options(run: RunCommand) -> None:
    budget = ("--token-budget", "500", "--token-counter", "o200k_base", "--force-converge")
    code, out, err = run("compress", "--messages", "m.json", *budget, "--trace", "--embed-summary-id", "--source-version", "9")
    result = json.loads(out)
    assert code == 0
    assert result["fits"]
    assert result["token_count"] <= 500
    assert "fit, window" in err
    assert len(result["trace"]) == len(MESSAGES)
    assert result["compression"]["original_version"] == 9
    assert "[turnfold sum_" in result["messages"][0]["content"]
    kept = json.loads(run("compress", "--messages", "m.json", "--preserve", "user", "--preserve", "assistant", "--no-dedup")[1])
    assert kept["messages"] == MESSAGES


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("compress",), 2, "FILE"),
        (("compress", "a.md", "--messages", "m.json"), 2, "FILE"),
        (("compress", "--messages", "absent.json"), 1, "absent.json"),
        (("compress", "--messages", "broken.json"), 1, "JSON"),
        (("compress", "--messages", "odd.json"), 1, "messages"),
        (("compress", "--messages", "numbers.json"), 1, "messages[1]: must be an object"),
        (("compress", "--messages", "m.json", "--recency-window", "-1"), 2, "--recency-window"),
        (("compress", "--messages", "m.json", "--token-counter", "words"), 2, "token-counter"),
        (("compress", "--messages", "m.json", "--output", "no/such/dir"), 1, "no/such/dir"),
        (("uncompress", "m.json"), 1, "verbatim"),
        (("uncompress", "lost.json"), 1, "missing"),
    ],
)
def test_failures_are_one_line(run: RunCommand, arguments: tuple[str, ...], code: int, word: str) -> None:
    Path("broken.json").write_text("{", "utf-8")
    save("odd.json", {"messages": 3})
    save("numbers.json", [MESSAGES[0], 2])
    lost = {"role": "user", "content": "x", "metadata": {"turnfold": {"ids": ["k"], "summary_id": "s", "version": 0}}}
    save("lost.json", {"messages": [lost], "verbatim": {}})
    ended, _, err = run(*arguments)
    assert ended == code
    assert word in err
    assert "Traceback" not in err


def test_what_was_edited_or_deleted_since_is_told(run: RunCommand) -> None:
    run("compress", "--messages", "m.json", "--output", "small.json")
    result = json.loads(Path("small.json").read_text("utf-8"))
    (short,) = [n for n, one in enumerate(result["messages"]) if "turnfold" in one.get("metadata", {})]
    ids = result["messages"][short]["metadata"]["turnfold"]["ids"]
    told = f"{len(ids)} originals belong to messages that were {{}}, the first is {{}}\n"
    result["messages"][short]["content"] += " (edited)"
    save("edited.json", result)
    code, out, err = run("uncompress", "edited.json")
    assert (code, json.loads(out), err) == (0, result["messages"], told.format("edited", ids[0]))
    del result["messages"][short]
    save("deleted.json", result)
    code, out, err = run("uncompress", "deleted.json")
    assert (code, json.loads(out), err) == (0, result["messages"], told.format("deleted", min(ids)))
