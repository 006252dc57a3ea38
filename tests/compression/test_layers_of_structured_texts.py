"""Layers of logs, tables, settings, outlines and letters: lines as they are, each with what it belongs to.

These tests cover such data alone and beside sentences. They leave out the size of what is nothing but data
(``test_layers_of_data``), and prose (``test_layers``).
"""

from __future__ import annotations

import json
import re
from itertools import pairwise, product

import pytest

from tests.compression.test_layers import compress
from tests.support.cases import each
from tests.support.effort import crosswise, every
from turnfold.compression.layers import Compressor, CompressRequest

LOG = "\n".join(
    f"2026-03-0{i % 9 + 1} 10:{i % 60:02}:11 " + ("ERROR worker-177 lost disk sda1" if i == 177 else f"INFO worker-{i} did {i}")
    for i in range(200)
)  # fmt: skip
ARRAY = json.dumps([{"id": i, "name": f"user {i}", "state": "failed" if i == 57 else "ok"} for i in range(100)])
PRICES = "| item | price |\n|---|---|\n" + "\n".join(f"| part {i} | ${i}.50 |" for i in range(60))
STRUCTURED = {
    "log": LOG,
    "array": ARRAY,
    "prose and log": f"We looked at the log of Monday.\n\n{LOG}\n\nKim Lee will call Acme Corp on 5 May.\n",
    "prose and table": f"The prices follow from the contract with Acme.\n\n{PRICES}\n\nKim Lee agreed to them on 5 May.\n",
    "csv": "id,name,amount\n" + "\n".join(f"{i},name {i},{i * 3}" for i in range(80)),
    "yaml": "\n".join(f"service{i}:\n  image: acme/x:{i}\n  replicas: {i}" for i in range(40)),
    "code": "\n\n".join(f"def f{i}(x):\n    # add {i}\n    return x + {i}" for i in range(40)),
    "fence": "# Use\n\nRun this.\n\n```py\n" + "\n".join(f"x{i} = f({i})" for i in range(80)) + "\n```\n",
    "html": "<html><body>" + "".join(f"<p>Part {i} weighs {i} kg.</p>\n" for i in range(50)) + "</body></html>",
    "words": "word " * 2000,
    "no blanks": "abcdefghij" * 200,
    "no blanks, no letters": "好的我们决定用它" * 300,
    "one sentence again and again": "The disk is full again on node seven. " * 60,
}


@each("name", every(4, [*STRUCTURED], 3))
def test_structured_texts_have_layers_within_the_ratio(name: str) -> None:
    text = STRUCTURED[name]
    assert compress(text, l1_ratio=1).layers[1].text == text
    for ratio in (0.05, 0.3, 0.9):
        result = compress(text, l1_ratio=ratio)
        raw, facts, summary = result.layers
        assert summary.text.strip()
        assert summary.tokens <= facts.tokens <= ratio * raw.tokens
        assert "".join(section.layers[0].text for section in result.sections) == text
        assert all(layer.text.strip() for section in result.sections for layer in section.layers)
        assert all(a.tokens >= b.tokens for section in result.sections for a, b in pairwise(section.layers))


@each(("name", "rare"), [("log", "sda1"), ("prose and log", "sda1"), ("array", "failed")])
def test_the_one_failure_is_in_every_layer(name: str, rare: str) -> None:
    result = compress(STRUCTURED[name])
    assert all(rare in layer.text for layer in result.layers)


ODD_ROWS = {
    "array": json.dumps([{"id": i, "sku": f"TX-{1000 + 7 * i}", "state": "RECALLED" if i == 77 else "ok"} for i in range(200)]),
    "lines of JSON": "\n".join(
        json.dumps({"n": i, "gate": f"G{i}", "seal": "broken" if i == 31 else "intact"}) for i in range(90)
    ),
    "csv": "berth;ship;flag\n" + "\n".join(f"B{i};vessel {i};{'quarantine' if i == 64 else 'clear'}" for i in range(120)),
    "drawn": "| pump | bar | hand |\n|---|---|---|\n"
    + "\n".join(f"| P{i} | {40 + i} | {'by Ada, without a permit' if i == 21 else 'Bo'} |" for i in range(60)),
}


@each(
    ("name", "rare"), [("array", "RECALLED"), ("lines of JSON", "broken"), ("csv", "quarantine"), ("drawn", "without a permit")]
)
def test_the_one_row_that_is_not_like_the_others_is_in_every_layer(name: str, rare: str) -> None:
    assert all(rare in layer.text for layer in compress(ODD_ROWS[name]).layers)


OUTPUTS = {
    "processes": "USER   PID  %CPU %MEM COMMAND\n"
    + "\n".join(f"www    {1000 + i}  {'98.7' if i == 50 else '0.1'}  0.2 /usr/bin/worker --n {i}" for i in range(90)),
    "records by name": json.dumps(
        {f"svc{i}": {"port": 8000 + i, "tls": i != 33, "image": f"acme:{i}"} for i in range(70)}, indent=2
    ),
    "pods": "NAME  READY  STATUS  RESTARTS  AGE\n"
    + "\n".join(f"web-{i:03}  1/1  {'Evicted' if i == 37 else 'Running'}  0  {i}h" for i in range(90)),
}


@each(("name", "rare"), [("processes", "98.7"), ("records by name", "false"), ("pods", "web-037  1/1  Evicted")])
def test_the_one_entry_that_is_not_like_the_others_is_in_every_layer(name: str, rare: str) -> None:
    assert all(rare in layer.text for layer in compress(OUTPUTS[name]).layers)


def test_a_short_trace_behind_a_long_output_is_in_every_layer() -> None:
    beats = "\n".join(f"info: Host[0] beat {i}" for i in range(80))
    trace = (
        "Unhandled exception. System.FormatException: Input string '12,5' was not in a correct format.\n"
        "   at System.Number.Parse()\n   at Acme.Fee.Read(String s) in /src/Fee.cs:line 19\n"
    )
    layers = compress(f"{beats}\n{trace}").layers
    assert all("\nUnhandled exception. System.FormatException: Input string '12,5'" in f"\n{layer.text}" for layer in layers)


ODD_SETTINGS = {
    "ini": "\n".join(f"[site{i}]\nhost = h{i}\nport = {5000 + i}\nverify_tls = {'off' if i == 9 else 'on'}" for i in range(45)),
    "yaml": "\n".join(f"pump{i}:\n  bar: {40 + i}\n  locked: {'false' if i == 31 else 'true'}" for i in range(45)),
    "code": "\n".join(f'resource "vm" "w{i}" {{\n  size = "{"metal" if i == 17 else "small"}"\n  n = {i}\n}}' for i in range(45)),
}


@each(("name", "rare"), [("ini", "verify_tls = off"), ("yaml", "locked: false"), ("code", 'size = "metal"')])
def test_the_one_setting_that_is_not_like_the_others_is_in_every_layer(name: str, rare: str) -> None:
    assert all(rare in layer.text for layer in compress(ODD_SETTINGS[name]).layers)


@each("ratio", [0.1, 0.2, 0.3])
def test_a_layer_is_not_filled_with_brackets(ratio: float) -> None:
    names = ["Turbine", "Valve", "Ledger", "Harbour", "Cable", "Sensor", "Invoice", "Winch", "Pallet"] * 5
    text = "\n".join(f"type {name}{i} {{\n  id: ID!\n  name: String\n  count{i}: Int!\n}}" for i, name in enumerate(names))
    assert all(layer.text.count("}") <= layer.text.count("{") + 1 for layer in compress(text, l1_ratio=ratio).layers)


def test_subtitles_are_told_by_what_is_said() -> None:
    said = [f"I saw boat {i} near the quay of Aldmoor." for i in range(1, 120)]
    text = "\n\n".join(
        f"{i}\n00:{i // 60:02}:{i % 60:02},000 --> 00:{i // 60:02}:{i % 60:02},900\n{one}" for i, one in enumerate(said, 1)
    )
    for layer in compress(text).layers[1:]:
        assert sum(len(one) for one in said if one in layer.text) > len(layer.text) / 3


OUTLINES = {
    "mappings": "\n".join(f'svc{i}:\n  image: acme/{i}:1.{i}\n  ports:\n    - "{8000 + i}:80"\n    - 9{i}' for i in range(40)),
    "items below their key": "hosts:\n"
    + "\n".join(f"- name: h{i}\n  roles:\n  - db{i}\n  limits:\n    cpu: {i}\n    memory: {i}Gi" for i in range(40)),
    "remarks": "\n".join(f"zone{i}:\n  # owned by team {i}\n  quota: {i}\n  keys:\n    main: k{i}" for i in range(40)),
}


@each(("name", "ratio"), crosswise(product(OUTLINES, [0.1, 0.3, 0.6]), 3))
def test_a_line_of_an_outline_stands_below_the_keys_that_it_is_in(name: str, ratio: float) -> None:
    """Without them it would be read as part of another."""
    paths = _outline_paths(OUTLINES[name])
    for layer in compress(OUTLINES[name], l1_ratio=ratio).layers[1:]:
        assert _outline_paths(layer.text) <= paths


def _outline_paths(text: str) -> set[tuple[str, ...]]:
    found, open_ = set(), list[tuple[int, str]]()
    for line in text.splitlines():
        if line.startswith(("[", "…")) or not line.strip():
            continue
        body = line.lstrip()
        depth = 2 * (len(line) - len(body)) + body.startswith("- ")
        while open_ and open_[-1][0] >= depth:
            open_.pop()
        found.add((*(key for _, key in open_), body))
        if not body.startswith("#"):
            open_.append((depth, body))
    return found


def test_a_table_beside_prose_is_kept_by_rows() -> None:
    facts = compress(STRUCTURED["prose and table"]).layers[1].text
    assert "contract with Acme" in facts
    assert "|item|price|" in facts.replace(" ", "")
    assert facts.count("part ") > 5


@each(
    ("data", "head"),
    product(
        [
            "| region | orders |\n|---|---|\n| north | 1204 |\n| south | 986 |\n| east | 1410 |\n| west | 655 |\n| sea | 88 |",
            "2026-03-01 10:00:11 INFO up\n2026-03-01 10:02:14 ERROR sda1 is full\n2026-03-01 10:07:52 INFO down",
            "region,orders\nnorth,1204\nsouth,986\neast,1410\nwest,655\nislands,88\nsea,12\nlakes,7",
        ],
        ["The figures by region:\n\n", "What came of it is below.\n\n", ""],
    ),
)
def test_a_small_block_between_sentences_is_shown_in_part_rather_than_not_at_all(data: str, head: str) -> None:
    before = (
        "The quarterly review took place in Lisbon on 4 March and was attended by eleven people from three departments. "
        "Ines Duarte presented the plan for the new warehouse and asked for comments until the end of the week. "
        "The contract with Halden Logistics was extended by two years at the same price. "
        "Several people asked about the delays in May, which were caused by a broken conveyor in hall 2."
    )
    after = (
        "The team will hire four technicians before June. Nobody objected to the budget of 1.4 million euros. "
        "The next meeting is planned for 12 June at nine in the morning. "
        "A visitor from the insurance company looked at the fire doors and found two that do not close."
    )
    layers = compress(f"{before}\n\n{head}{data}\n\n{after}", l1_ratio=0.3).layers
    assert layers[1].tokens <= 0.3 * layers[0].tokens
    assert any(squeezed(row) in squeezed(layers[1].text) for row in data.split("\n")[1:] if "---" not in row)
    if " lines]" in layers[1].text:
        assert any(sentence in layers[1].text for sentence in re.split(r"(?<=[.]) ", f"{before} {after}"))


def squeezed(line: str) -> str:
    return line.replace(" ", "").rstrip("|")


FERRIES = """The pier was painted in spring. Ines thanked the crew for the quiet season. A guest from Lyon praised the view.

The departures are as follows.

| ferry | departs |
|---|---|
| Heron | 7:45 |
| Tern | 16:10 |

A kiosk sells coffee on the quay. The harbour office moved to the first floor of the red house.
The flags were washed. Marta told of her trip to the lake, where it had rained all week. The benches got new names."""


@pytest.mark.parametrize("query", [None, "When does the Tern depart?"])
def test_a_small_table_may_be_what_layer_2_says(query: str | None) -> None:
    summary = Compressor().compress(CompressRequest(FERRIES, l1_ratio=0.45, query=query)).layers[2].text
    assert "departures are as follows" in summary
    assert "| Tern | 16:10 |" in summary


@each("ratio", [0.05, 0.1, 0.2, 0.3, 0.45, 0.6])
def test_what_introduces_a_table_does_not_stand_alone(ratio: float) -> None:
    for text in (FERRIES, FERRIES.partition("\n\n")[2], FERRIES.replace("departures are as follows.", "prices are below.")):
        for layer in Compressor().compress(CompressRequest(text, l1_ratio=ratio)).layers:
            assert bool(re.search("The (departures|prices) are", layer.text)) == bool(re.search("7:45|16:10", layer.text))


def test_a_fence_stays_closed() -> None:
    for ratio in (0.1, 0.3, 0.6):
        assert compress(STRUCTURED["fence"], l1_ratio=ratio).layers[1].text.count("```") in (0, 2)


BOATS = (
    "The prices of the boats are below, and they hold until May.\n\n| boat | price | crew |\n|---|---|---|\n"
    "| Alma, with sails | $4,200 | 3 |\n| the same, without sails | $3,100 | 2 |\n| Berta, with a motor | $9,900 | 5 |\n"
    "| the same, hired for a day | $120 | 1 |\n\nOle signs the contract on Friday.\n"
)


@each("ratio", [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
def test_rows_of_a_table_stand_under_its_header_and_behind_what_they_are_the_same_as(ratio: float) -> None:
    rows = [line for line in compress(BOATS, l1_ratio=ratio, query="hired for a day").layers[1].text.split("\n") if "|" in line]
    assert len(rows) != 1
    for before, row in pairwise(rows):
        if "the same, hired" in row:
            assert "Berta" in before
        if "the same, without" in row:
            assert "Alma" in before


@each("ratio", [0.01, 0.015, 0.02, 0.03, 0.05])
def test_a_line_that_is_cut_shows_no_half_figure(ratio: float) -> None:
    settings = [f"k{i}={1_000_000 + 7919 * i}" for i in range(400)]
    shown = compress(" ".join(settings), l1_ratio=ratio).layers[1].text
    said = shown.split("…")[0].split()
    assert said
    assert said == settings[: len(said)]


FAQ = """Q: Can I get a refund?
A: Within 30 days, with the receipt of the shop.

Q: Do you ship to Norway?
A: No. We ship only within the EU.

Q: Who opens the gate at night?
A: The porter."""
MAIL = """From: Mara Lind <mara@acme.example>
To: board@acme.example
Subject: Re: Launch moved

Hi all,

after talking to legal we will not launch on 9 October. The new date is 16 November, provided that the auditor signs by the 10th.
Please don't tell customers yet. Jonas owns the comms plan.

Thanks,
Mara

> On Sunday Jonas wrote:
> I think 9 October is still fine.
"""
MINUTES = """Minutes of 20 November

Decisions
- The launch moves to 16 November.
- Jonas will not hire a second contractor.

Open questions
- Who asks legal about the licence of the fonts?

Small talk
We talked about the weather and the new coffee machine. The machine is loud."""


@each("ratio", [0.1, 0.2, 0.3, 0.45, 0.6, 0.8])
def test_no_question_stands_above_the_answer_to_another(ratio: float) -> None:
    result = Compressor().compress(CompressRequest(FAQ, l1_ratio=ratio))
    source = FAQ.replace("\n\n", "\n").split("\n")
    for layer in result.layers[1:]:
        shown = [line for line in layer.text.split("\n") if line]
        for line, behind in pairwise([*shown, ""]):
            if line.startswith("Q:"):
                assert behind
                assert source[source.index(line) + 1].startswith(behind[:12])


@each(("text", "ratio"), product([MAIL, MINUTES], [0.2, 0.3, 0.45, 0.6]))
def test_what_leads_to_others_does_not_stand_alone(text: str, ratio: float) -> None:
    leads = ("Decisions", "Open questions", "Small talk", "Hi all,", "Thanks,", "> On Sunday Jonas wrote:")
    for layer in Compressor().compress(CompressRequest(text, l1_ratio=ratio)).layers[1:]:
        shown = [line for line in layer.text.split("\n") if line]
        for line, behind in pairwise([*shown, ""]):
            if line in leads:
                at = text.split("\n").index(line)
                assert behind
                assert any(behind in under for under in text.split("\n")[at + 1 : at + 4])


@pytest.mark.parametrize("ratio", [0.3, 0.45])
def test_a_letter_is_told_before_what_it_quotes(ratio: float) -> None:
    for layer in Compressor().compress(CompressRequest(MAIL, l1_ratio=ratio)).layers[1:]:
        assert "we will not launch on 9 October" in layer.text
        assert "still fine" not in layer.text


def test_a_sentence_that_is_unlike_a_series_is_shown_before_its_entries() -> None:
    entries = [f"Berth {i} is free until {i} May. Its crane is sound. " for i in range(90)]
    odd = "Berth nine was closed after a spill."
    layers = compress("".join([*entries[:60], f"{odd} ", *entries[60:]])).layers
    assert odd in layers[1].text
    assert layers[2].tokens < layers[1].tokens / 3  # no entry brings the others along
