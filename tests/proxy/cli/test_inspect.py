"""``turnfold inspect``: a request that a server knows, and a request in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.harness import RunCommand, call
from tests.proxy.processes import ADMIN, LONG, SHORT, Served, chat
from tests.support.words import prose


def test_inspect_asks_the_server(served: Served, run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_ADMIN_TOKEN", "adm")
    name = served.post(LONG).header("x-turnfold-request-id") or ""
    code, out, err = run("inspect", name, "--url", served.origin)
    assert (code, err) == (0, "")
    assert name in out
    assert "Folded" in out
    assert "Section" in out
    assert json.loads(run("inspect", name, "--url", served.origin, "--json")[1])["receipt"]["request_id"] == name
    code, out, err = run("inspect", name, "--url", served.origin, "--tenant", "another")
    assert (code, out, err.count("\n")) == (1, "", 1)
    deleted = call(served.origin, "DELETE", "/admin/data", None, [ADMIN, ("x-turnfold-tenant", _tenant(served, name))])
    assert deleted.status == 200
    assert "never kept" in run("inspect", name, "--url", served.origin)[1]


def test_inspect_shows_reasoning_with_its_call(served: Served, run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_ADMIN_TOKEN", "adm")
    items: list[dict[str, Any]] = []
    for number in range(14):
        items += [
            {"role": "user", "content": f"How high is the tide at pier {number}? " + "It was calm all day. " * 30},
            {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "gAAAA" * 9},
            {"type": "function_call", "call_id": f"c{number}", "name": "tide", "arguments": f'{{"pier": {number}}}'},
            {"type": "function_call_output", "call_id": f"c{number}", "output": "High at 14:20. " * 40},
            {"role": "assistant", "content": "At 14:20."},
        ]
    body = json.dumps({"model": "gpt-4o", "input": [*items, {"role": "user", "content": "And now?"}]}).encode()
    answer = call(served.origin, "POST", "/v1/responses", body, [("x-turnfold-budget", "2000")])
    assert answer.header("x-turnfold-status") == "folded"
    code, out, err = run("inspect", answer.header("x-turnfold-request-id") or "", "--url", served.origin, "--full")
    assert (code, err) == (0, "")
    assert "function_call" in out
    assert "user: How high" in out


def _tenant(served: Served, name: str) -> str:
    tenant: str = served.get(f"/admin/requests/{name}").json()["receipt"]["tenant"]
    return tenant


def test_inspect_folds_a_file_here(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "request.json").write_bytes(LONG)
    found = json.loads(run("inspect", "request.json", "--json")[1])
    messages = found["messages"]
    assert [row["before"] for row in messages] == [message["content"] for message in chat(60)]
    assert found["tokens"]["after"] < found["tokens"]["before"]
    assert found["tokens"]["after"] == pytest.approx(sum(row["tokens_after"] for row in messages) + 3)
    assert {row["what"] for row in messages} >= {"left out", "verbatim"}
    assert all((row["after"] is None) == (row["what"] == "left out") for row in messages)
    assert all(row["section"] for row in messages if row["what"] in ("left out", "shortened"))
    assert found["fold_events"] > 0
    assert (found["prices"]["dollars_per_million"], found["prices"]["cache_read"]) == (2.5, 0.5)
    assert "at these prices" in found["thresholds"]["words"]
    recalled = [passage for row in messages for passage in row["recall"]]
    assert all(any(passage["text"].split(" … ")[0] in row["before"] for row in messages) for passage in recalled)
    code, out, _ = run("inspect", "request.json", "--full")
    assert code == 0
    assert "(left out)" in out
    assert "in the oldest block" in out or "in an old block" in out


def test_inspect_folds_a_file_within_a_budget(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "request.json").write_bytes(LONG)
    found = json.loads(run("inspect", "request.json", "--json")[1])
    tight = json.loads(run("inspect", "request.json", "--json", "--budget", "900")[1])
    assert tight["tokens"]["before"] == found["tokens"]["before"]
    assert tight["tokens"]["after"] <= 900 < found["tokens"]["after"]


def test_inspect_tells_a_shaped_result(run: RunCommand, tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "list_cranes", "arguments": "{}"}}
    cranes = json.dumps([{"crane": f"c-{n}", "berth": n, "open": True} for n in range(20)], indent=2)
    messages = [
        {"role": "system", "content": prose(1, "en", 90)},  # a prompt too short for the provider's cache is not made shorter
        {"role": "user", "content": "Which cranes are open?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": cranes},
    ]
    (tmp_path / "request.json").write_text(json.dumps({"model": "gpt-4o", "messages": messages}))
    found = json.loads(run("inspect", "request.json", "--json")[1])
    row = found["messages"][-1]
    assert (row["what"], row["section"]) == ("shortened", "")
    assert "same values" in row["why"]
    assert row["after"].startswith("@1: 20 rows of crane|berth|open")


def test_inspect_says_why_an_answer_is_shorter(run: RunCommand, tmp_path: Path) -> None:
    # The white space goes where a request for Claude is changed in front of it.
    messages = [*chat(60)[:-2], {"role": "assistant", "content": "Gate 7 is open. \n"}, {"role": "user", "content": "And 8?"}]
    (tmp_path / "request.json").write_text(json.dumps({"model": "claude-sonnet-4-5", "messages": messages}))
    row = json.loads(run("inspect", "request.json", "--json", "--budget", "12000")[1])["messages"][-2]
    assert (row["before"], row["after"], row["what"]) == ("Gate 7 is open. \n", "Gate 7 is open.", "shortened")
    assert "white space" in row["why"]


def test_inspect_says_why_nothing_is_folded(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "short.json").write_bytes(SHORT.replace(b"gpt-4o", b"my-local-model"))
    code, out, _ = run("inspect", "short.json")
    assert code == 0
    assert "The conversation is short. It will be folded at about" in out
    assert "price unknown" in out
    found = json.loads(run("inspect", "short.json", "--json")[1])
    assert found["prices"]["dollars_per_million"] is None
    assert [row["what"] for row in found["messages"]] == ["verbatim"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "JSON object"),
        ("\ufeff{}", "JSON object"),
        ("{", "is not JSON"),
        ("", "blank"),
        ("[NaN]", "NaN is no value"),
        ("[" * 50_000 + "]" * 50_000, "nested too deeply"),
    ],
)
def test_inspect_of_no_request(run: RunCommand, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "odd.json").write_text(text)
    code, out, err = run("inspect", "odd.json")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("turnfold: odd.json: ")
    assert words in err


def test_inspect_of_no_file(run: RunCommand) -> None:
    code, out, err = run("inspect", "nowhere.json")
    assert (code, out) == (1, "")
    assert "nowhere.json" in err
