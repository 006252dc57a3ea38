"""The comparison of two runs says what differs, and the cases can be told apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.forwarded_bytes import compare, differences
from benchmarks.support.data import own_cases, shared_directory
from benchmarks.support.forwarded_cases import QUICK, parts, read, with_directives

RUN: dict[str, dict[str, Any]] = {
    "whole/gpt-4o/a/0": {"status": "folded", "tokens-after": "10", "sent": ["aa"]},
    "whole/gpt-4o/a/1": {"status": "passthrough", "sent": ["bb"]},
    "instead/gpt-4o/a/0/0": {"id": "x", "instead": "cc"},
}


def test_a_run_is_identical_to_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(RUN, dict(RUN), most=5, common=False, without=()) == 0
    assert capsys.readouterr().out == "identical\n"


def test_each_difference_is_listed_in_its_group(capsys: pytest.CaptureFixture[str]) -> None:
    other = {**RUN, "whole/gpt-4o/a/0": {"status": "folded", "tokens-after": "11", "sent": ["dd"]}}
    other["instead/gpt-4o/a/0/0"] = {"id": "x", "instead": "ee"}
    assert compare(RUN, other, most=5, common=False, without=()) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "whole: 1 of 2 cases differ" in lines
    assert "  whole/gpt-4o/a/0: tokens-after 10 > 11, sent aa > dd" in lines
    assert "instead: 1 of 1 cases differ" in lines
    assert set(differences(RUN, other, without=["instead"])) == {"whole"}


def test_a_long_group_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    compare({f"whole/{n}": {"sent": ["aa"]} for n in range(9)}, {}, most=2, common=False, without=())
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines), lines[-1]) == (4, "  ... and 7 more")


def test_a_missing_case_is_a_difference_but_for_common_ones() -> None:
    less = {key: value for key, value in RUN.items() if not key.startswith("instead")}
    assert differences(RUN, less) == {"instead": ["instead/gpt-4o/a/0/0: only in the first"]}
    assert differences(less, RUN) == {"instead": ["instead/gpt-4o/a/0/0: only in the second"]}
    assert differences(RUN, less, common=True) == {}


def test_directives_leave_the_conversation_as_it_is() -> None:
    talk = [{"role": ("user", "assistant")[n % 2], "content": str(n)} for n in range(9)]
    stated = with_directives(talk)
    assert [message for message in stated if message["content"].isdigit()] == talk
    assert len(stated) == len(talk) + 8
    assert [message["role"] for message in stated] == ["user", "assistant"] * 8 + ["user"]


def keys_are_their_own(least: int) -> None:
    keys = [case.key for part in parts(read(QUICK)) for chain in part.chains for case in chain]
    assert len(keys) == len(set(keys)) > least
    assert all(key.isascii() and " " not in key for key in keys)


def test_every_case_of_our_own_talk_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "eval"
    folder.mkdir(parents=True)
    talks = [json.dumps({"id": case["name"], "messages": case["messages"]}) for case in own_cases("orders")]
    for name in QUICK.sets or ():
        (folder / f"{name}.jsonl").write_text("\n".join(talks), "utf-8")
    monkeypatch.setenv("EVALUATION_SHARED", str(tmp_path))
    keys_are_their_own(100)


@pytest.mark.skipif(not shared_directory().is_dir(), reason="the evaluation data is not here")
def test_every_case_has_a_key_of_its_own() -> None:
    keys_are_their_own(300)
