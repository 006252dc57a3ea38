"""``turnfold compress``, ``benchmark`` and ``drill-down --layer``, in this process."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import httpx
import pytest

from tests.proxy.harness import RunCommand, api_server

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
    assert run("compress", "text.md", "--layer", "0")[1] == TEXT + "\n"


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
        (("compress", "blank.md"), 1, "blank"),
        (("compress", "broken.md"), 1, "UTF-8"),
        (("compress", "text.md", "--ratio", "0"), 1, "l1_ratio"),
        (("compress", "text.md", "--scorer", "best"), 1, "scorer"),
        (("compress", "text.md", "--layer", "3"), 2, "layer"),
        (("compress", "text.md", "--output", "no/such/dir"), 1, "no/such/dir"),
        (("benchmark", "absent.md"), 1, "absent.md"),
    ],
)
def test_failures_are_one_line(run: RunCommand, tmp_path: Path, arguments: tuple[str, ...], code: int, word: str) -> None:
    (tmp_path / "blank.md").write_text(" \n", "utf-8")
    (tmp_path / "broken.md").write_bytes(b"a\xff")
    ended, out, err = run(*arguments)
    assert (ended, out) == (code, "")
    assert word in err
    assert "Traceback" not in err


def test_benchmark(run: RunCommand) -> None:
    rows = json.loads(run("benchmark", "text.md", "--json")[1])
    assert [row["scorer"] for row in rows] == ["textrank", "tfidf", "conversation", "composite"]
    assert all(row["raw"] > row["facts"] >= row["summary"] > 0 and row["ms"] > 0 for row in rows)
    assert "composite" in run("benchmark", "text.md")[1]


def test_drill_down_serves_layers(run: RunCommand) -> None:
    with api_server("memory://") as origin:
        headers = {"authorization": "Bearer anna"}
        section = httpx.post(f"{origin}/v1/compress", json={"text": TEXT}, headers=headers).json()["sections"][0]
        texts = [run("drill-down", section["id"], "--layer", str(n), "--url", origin, "--key", "anna")[1] for n in (0, 1, 2)]
        assert run("drill-down", section["id"], "--url", origin, "--key", "bert")[0] == 1
    assert texts[0].startswith("Anna Berg signed")
    assert len(texts[0]) > len(texts[1]) >= len(texts[2])
    assert texts[2] == section["summary"] + "\n"


def test_prose_prints_the_text_and_what_it_saved(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("Please note that the pull request is in the queue of the team.\n", "utf-8")
    code, out, err = run("prose", "note.md")
    assert (code, out) == (0, "PR is in queue of team.\n")
    assert err == "14 -> 7 tokens, 50.0% saved\n"
    code, out, _ = run("prose", "note.md", "--intensity", "lite", "--json")
    assert json.loads(out)["receipt"]["compression_intensity"] == "lite"
    assert run("prose", "note.md", "--intensity", "most")[0] == 1
    assert run("prose", "note.md", "--output", "no/such/dir")[0] == 1
    assert "absent.toml" in run("prose", "note.md", "--lexicon", "absent.toml")[2]
