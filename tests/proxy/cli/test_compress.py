"""``turnfold compress``, ``benchmark`` and ``drill-down --layer``, in this process."""

from __future__ import annotations

import io
import json
import re
import socket
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.proxy.harness import RunCommand, api_server
from turnfold.proxy.cli.cases import rouge_l

TEXT = "Anna Berg signed for $4.2 million. " + "".join(f"Day {n} passed by without any news at all. " for n in range(40))


@pytest.fixture(autouse=True)
def text(run: RunCommand) -> None:
    """A file to compress, in the directory where commands run."""
    del run
    Path("text.md").write_text(TEXT, "utf-8")


def test_compress_prints_figures_and_the_layer(run: RunCommand) -> None:
    code, out, err = run("compress", "text.md", "--ratio", "0.2")
    assert code == 0
    assert "Anna Berg" in out
    assert len(out) < 0.5 * len(TEXT)
    assert all(name in err for name in ("0 raw", "1 facts", "2 summary"))
    assert re.search(r"^41 sentences, \d+ sections?, scorer \w+, .* in layer 1$", err, re.MULTILINE)
    assert run("compress", "text.md", "--layer", "0")[1] == TEXT + "\n"


def test_compress_gives_no_share_of_entities_where_there_are_none(run: RunCommand) -> None:
    Path("plain.md").write_text("the sea was calm and nobody said a word.\n", "utf-8")
    code, _, err = run("compress", "plain.md")
    assert code == 0
    assert re.search(r"scorer \w+, \d+\.\d\d s$", err, re.MULTILINE)
    assert "entit" not in err


def test_compress_as_json_from_standard_input_into_a_file(
    run: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    code, out, _ = run("compress", "-", "--json", "--query", "Who signed?", "--scorer", "tfidf", "--output", "out.json")
    assert (code, out) == (0, "")
    body = json.loads(Path("out.json").read_text("utf-8"))
    assert set(body) == {"layers", "entities", "sections", "metadata"}
    assert body["metadata"]["scorer"] == "tfidf"
    assert body["layers"]["0"]["text"] == TEXT


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("compress", "absent.md"), 1, "absent.md"),
        (("compress", "text.md", "--messages", "chat.json"), 2, "either"),
        (("compress", "blank.md"), 1, "blank"),
        (("compress", "broken.md"), 1, "UTF-8"),
        (("compress", "wide.md"), 1, "UTF-16"),
        (("compress", "text.md", "--ratio", "0"), 2, "--ratio"),
        (("compress", "text.md", "--scorer", "best"), 2, "--scorer"),
        (("compress", "text.md", "--layer", "3"), 2, "layer"),
        (("compress", "text.md", "--output", "no/such/dir"), 1, "no/such/dir"),
        (("benchmark", "absent.md"), 1, "absent.md"),
    ],
)
def test_failures_are_one_line(run: RunCommand, tmp_path: Path, arguments: tuple[str, ...], code: int, word: str) -> None:
    (tmp_path / "blank.md").write_text(" \n", "utf-8")
    (tmp_path / "broken.md").write_bytes(b"a\xff")
    (tmp_path / "wide.md").write_bytes("It rains.".encode("utf-16-le"))
    ended, out, err = run(*arguments)
    assert (ended, out) == (code, "")
    assert word in err
    assert "Traceback" not in err
    assert "0 raw" not in err, "figures of a result that was not written"


def test_benchmark(run: RunCommand) -> None:
    rows = json.loads(run("benchmark", "text.md", "--json")[1])
    assert [row["scorer"] for row in rows] == ["textrank", "tfidf", "conversation", "composite"]
    assert all(row["raw"] > row["facts"] >= row["summary"] > 0 and row["ms"] > 0 for row in rows)
    heading, *lines = [re.findall(r"[\w./]+", line) for line in run("benchmark", "text.md")[1].splitlines() if "te" in line]
    assert heading == ["text", "scorer", "tokens", "facts", "summary", "ratio", "ms", "tokens/s"]
    assert [line[:2] for line in lines] == [["text.md", row["scorer"]] for row in rows]


COUNTED = " ".join(f"Crate {n} with tag T-{31 * n} went to gate {7 * n % 53} on day {n % 9}." for n in range(200))


@pytest.mark.parametrize(("name", "ratio"), [("conversations", 2.47), ("documents", 2.73), ("rag_chunks", 2.39), ("any", 3.33)])
def test_published_cases_are_compressed_as_far_as_they_were_published(
    run: RunCommand, tmp_path: Path, name: str, ratio: float
) -> None:
    (tmp_path / f"{name}.json").write_text(json.dumps([CASE | {"context": COUNTED}]), "utf-8")
    assert json.loads(run("benchmark", f"{name}.json", "--json")[1])[0]["ratio"] == pytest.approx(ratio, rel=0.02)


CASE = {"id": "one", "context": TEXT, "question": "Who?", "expected_entities": ["Anna Berg", "$4.2 million", "Day 99"]}


def test_a_case_takes_no_longer_than_the_whole_benchmark(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "cases.json").write_text(json.dumps([CASE, CASE]), "utf-8")
    began = time.perf_counter()
    one, two, mean = json.loads(run("benchmark", "cases.json", "--json")[1])
    assert 0 < one["ms"] + two["ms"] < 1000 * (time.perf_counter() - began)
    assert mean["ms"] == pytest.approx((one["ms"] + two["ms"]) / 2)


def test_benchmark_runs_cases_from_a_folder_or_a_file(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "set" / "datasets").mkdir(parents=True)
    unnamed = {name: value for name, value in CASE.items() if name != "id"}
    (tmp_path / "set" / "datasets" / "documents.json").write_text(json.dumps([CASE, unnamed]), "utf-8")
    (tmp_path / "set" / "datasets" / "other.json").write_text('{"no": "cases"}', "utf-8")
    wrong: tuple[Any, ...] = (CASE | {"expected_entities": "Anna"}, CASE | {"expected_entities": []}, CASE | {"context": " "}, 7)
    for number, one in enumerate((*wrong, CASE | {"expected_entities": ["Anna", 7]}, CASE | {"context": None})):
        (tmp_path / "set" / "datasets" / f"wrong_{number}.json").write_text(json.dumps([CASE, one]), "utf-8")
    for place in ("set", "set/datasets", "set/datasets/documents.json"):
        rows = json.loads(run("benchmark", place, "--json")[1])
        assert [(row["set"], row["case"]) for row in rows] == [("documents", "one"), ("documents", "2"), ("documents", "")]
        assert all(row["recall"] == pytest.approx(2 / 3) and row["ratio"] > 2 for row in rows)
    assert "mean" in run("benchmark", "set")[1]
    (tmp_path / "empty").mkdir()
    assert run("benchmark", "empty")[0] == 1
    (tmp_path / "plain.json").write_text(json.dumps({"text": TEXT}), "utf-8")
    assert json.loads(run("benchmark", "plain.json", "--json")[1])[0]["scorer"] == "textrank"


WORDS = st.lists(st.sampled_from(["a", "b", "See", "$4", "day"]), max_size=30)


def longest_common(one: list[str], other: list[str]) -> int:
    """By the table of the textbook, which is slow and plain."""
    above = [0] * (len(other) + 1)
    for word in one:
        row = [0]
        for i, theirs in enumerate(other):
            row.append(above[i] + 1 if word == theirs else max(row[i], above[i + 1]))
        above = row
    return above[-1]


@given(WORDS, WORDS)
def test_rouge_l(one: list[str], other: list[str]) -> None:
    common = longest_common(one, other)
    expected = 2 * common / (len(one) + len(other)) if common else 0
    assert rouge_l(" ".join(one), ", ".join(other).upper()) == pytest.approx(expected)


def test_the_short_options(run: RunCommand, tmp_path: Path) -> None:
    assert (
        run("compress", "text.md", "-l", "2", "-r", "0.2")[1] == run("compress", "text.md", "--layer", "2", "--ratio", "0.2")[1]
    )
    assert run("compress", "text.md", "-l", "0", "-o", "out.md")[:2] == (0, "")
    assert (tmp_path / "out.md").read_text("utf-8") == TEXT + "\n"


def test_line_ends_stay_as_they_are(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "windows.md").write_bytes(b"Not now.\r\nLater, if Bob agrees.\r\n")
    for command in ("compress windows.md --layer 0 -o", "prose windows.md -o"):
        assert run(*command.split(), "out.md")[0] == 0
        assert (tmp_path / "out.md").read_bytes() == (tmp_path / "windows.md").read_bytes()
    assert run("prose", "")[::2] == (1, "turnfold: give the name of a file, or - for standard input\n")


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("compress text.md --token-budget 5", "--token-budget"),
        ("compress text.md --no-dedup", "--dedup"),
        ("compress text.md --recency-window 4", "--recency-window"),  # its default, but said
        ("compress text.md --trace", "--trace"),
        ("compress --messages m.json --layer 1", "--layer"),
        ("compress --messages m.json -r 0.2", "--ratio"),
        ("compress --messages m.json --json", "--json"),
        ("compress --messages m.json --query x", "--query"),
        ("compress --messages m.json --force-converge", "--force-converge"),
        ("compress --messages m.json --min-recency-window 2", "--min-recency-window"),
        ("compress --messages m.json --fuzzy-threshold 0.9", "--fuzzy-threshold"),
        ("report --json --csv", "--csv"),
        ("inspect text.md --since 2d", "--since"),
        ("inspect text.md --tenant t", "--tenant"),
        ("inspect tf-1 --budget 9", "--budget"),
        ("inspect text.md --full --json", "--full"),
        ("drill-down s --key k --tenant t", "--key"),
    ],
)
def test_an_option_that_does_not_apply_is_refused(run: RunCommand, tmp_path: Path, command: str, option: str) -> None:
    (tmp_path / "m.json").write_text('[{"role": "user", "content": "hi"}]', "utf-8")
    code, out, err = run(*command.split())
    assert (code, out) == (2, "")
    assert f"turnfold: invalid value for {option}: " in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["text.md", "./text.md", "linked.md", "hard.md"])
@pytest.mark.parametrize(
    "command", ["compress text.md -o", "compress --messages text.md -o", "uncompress text.md --output", "prose text.md --output"]
)
def test_no_output_overwrites_its_input(run: RunCommand, tmp_path: Path, command: str, name: str) -> None:
    (tmp_path / "linked.md").symlink_to(tmp_path / "text.md")
    (tmp_path / "hard.md").hardlink_to(tmp_path / "text.md")
    code, _, err = run(*command.split(), name)
    assert code == 2
    assert "--output" in err
    assert (tmp_path / "text.md").read_text("utf-8") == TEXT


def test_a_lexicon_is_an_input_too(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("", "utf-8")
    assert run("prose", "text.md", "--lexicon", "own.toml", "--output", "own.toml")[0] == 2
    assert (tmp_path / "own.toml").read_text("utf-8") == ""


@pytest.mark.parametrize(
    "host", ["http://127.0.0.1", "127.0.0.1:80", "no such", "256.1.1.1", "host/path", "-x", "nobody.invalid", "192.0.2.1"]
)
def test_a_wrong_host_names_its_setting(run: RunCommand, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    code, _, err = run("serve", f"--host={host}", "--store", "memory://", "--port", "0")
    assert (code, err.count("\n")) == (2, 1)
    assert "--host" in err or "TURNFOLD_HOST" in err
    monkeypatch.setenv("TURNFOLD_HOST", host)
    assert "TURNFOLD_HOST" in run("serve", "--store", "memory://", "--port", "0")[2]


def test_a_port_in_use_names_its_setting(run: RunCommand) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        code, _, err = run("serve", "--store", "memory://", "--port", str(held.getsockname()[1]))
    assert code == 2
    assert "TURNFOLD_PORT" in err


@pytest.mark.parametrize("url", ["https://api openai.com/v1", "http://300.1.1.1/v1", "https:///v1"])
def test_a_wrong_upstream_names_its_setting(run: RunCommand, url: str) -> None:
    code, _, err = run("serve", "--upstream", url)
    assert code == 2
    assert "--upstream" in err


def test_drill_down_serves_layers(run: RunCommand) -> None:
    with api_server("memory://") as origin:
        headers = {"authorization": "Bearer anna"}
        section = httpx.post(f"{origin}/v1/compress", json={"text": TEXT}, headers=headers, timeout=60).json()["sections"][0]
        texts = [run("drill-down", section["id"], "--layer", str(n), "--url", origin, "--key", "anna")[1] for n in (0, 1, 2)]
        assert run("drill-down", section["id"], "--url", origin, "--key", "bert")[0] == 1
    assert texts[0].startswith("Anna Berg signed")
    assert len(texts[0]) > len(texts[1]) >= len(texts[2])
    assert texts[2] == section["summary"] + "\n"


def test_prose_prints_the_text_and_what_it_saved(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("Please note that the pull request is in the queue of the team.\n", "utf-8")
    code, out, err = run("prose", "note.md")
    assert (code, out) == (0, "The PR is in queue of team.\n")
    assert err == "14 -> 8 tokens, 42.9% saved\n"
    code, out, _ = run("prose", "note.md", "--intensity", "lite", "--json")
    assert json.loads(out)["receipt"]["compression_intensity"] == "lite"
    assert run("prose", "note.md", "--intensity", "most")[0] == 2
    assert run("prose", "note.md", "--output", "no/such/dir")[0] == 1
    assert run("prose", "note.md", "--lexicon", "absent.toml")[2].startswith("turnfold: --lexicon: absent.toml cannot be read")


def test_benchmark_of_a_text_that_is_made_up(run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same text in every release, so that figures can be compared."""
    monkeypatch.setattr("turnfold.proxy.cli.benchmark._SIZES", (1000, 2000))
    rows = json.loads(run("benchmark", "--json")[1])
    assert [(row["text"], row["scorer"]) for row in rows] == [("made up, 1k", "composite"), ("made up, 2k", "composite")]
    assert [(row["raw"], row["facts"], row["summary"], row["ratio"]) for row in rows] == [
        (975, 289, 60, 3.37),
        (1950, 584, 72, 3.34),
    ]
    for row in rows:
        assert row["tokens_per_second"] == pytest.approx(1000 * row["raw"] / row["ms"], rel=0.1)
