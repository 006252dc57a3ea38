"""Ordinary sentences go to the model, directives go to the engine.

These tests cover sentences of our own in English that begin as directives do, and directives that must pass; more of both in
``cases``. They leave out what the engine makes of them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.growth import assert_linear, repeated
from turnfold.compression.state import Placement, State, Turn, certainty, place, why_ordinary
from turnfold.compression.state.guard import MAX_PREMISE_CHARS
from turnfold.compression.text.lexicon import lexicon

ORDINARY = """
use the attached file to write a summary of Q3
use the file I sent you
use the data below
use the table above to answer the question
use the following numbers: 3, 5, 8
use this template
use that one
use it
use them both
use my name in the greeting
use your best judgement
use your own words
use our house style in the letter
use the second option
use the code from earlier
use the same approach as last time
use the previous answer
use 3 sentences
use two short paragraphs
use five bullet points
use today's date
use tomorrow's slot
use pandas to read the csv
use pandas for this
use a for loop instead of recursion in the example
use python instead of java for this script
use tabs instead of spaces in the code below
use regex to find all dates
use docker and explain why
use docker and then continue with the answer
use docker, please
use docker please
use docker?
use docker or podman?
use docker because it is simpler
use docker if you can
use docker now
use numpy and write the loop again
use an example from physics when you explain entropy
use simple words so that a child understands
use different names for the variables
use another colour
use one of these
use all of them
use both
use either
use whatever works
use what you know about Rome
use of force is regulated by the charter
use cases for redis
use case diagrams are helpful
use up the leftover rice
use to be honest a bit of humour
use the spreadsheet
use the results
use the csv file
use the report
use a spoon, then stir until smooth
use two eggs; whisk them well
use at most three sentences
use caution when you touch the wires
use as many sources as possible
use by date 12 May, is it still good?
use in production is not advised
use this: https://example.org/data.csv
use Euler's method with step 0.1 and compute y(1)
use git bisect and find the commit
use the quadratic formula and solve x^2 = 4
use SQL to summarise sales by month
use every tool you have
use nothing but what is in the notes
use LaTeX for the formulas and return the source
use markdown tables. The first column is the date
use italics (not bold) for titles
use ChatGPT to translate this sentence into French
use induction to prove the claim
use a debugger and step through main
use proper nouns from the text
use green - it goes with the logo
use words which rhyme with orange
use the recipe my grandmother had written down
use the api docs
use last week's figures
use active verbs and cut the adverbs
set premise aside for a moment
use linear regression predict sales
use gpt-4 to grade the essay
use typescript, not javascript
use 12pt font double spaced and submit by friday
use async/await rewrite of the function above
use the format Name - Age - City
use vectors let me know whether that helps
prohibit users from deleting rows in this schema
prohibit access to the admin page for guests
prohibit it
prohibit that
prohibit smoking in all rooms of the building, in legal language
prohibit is the wrong word here
prohibit, forbid or ban: which is stronger?
prohibit clauses like this are common in leases
remove policy numbers from the attached report
remove policy violations in the code below and list them
remove policy 7 from our handbook
remove policy holders who have died from the list
change premise of the story to a murder mystery
change premise in chapter two so that she survives
change premise and conclusion around
change premise number two, is the argument valid now?
change premise slightly and retell
change premise but keep the ending
set premise as a given and prove it
set premise of the novel to a distant planet
set premise for the essay: freedom needs limits
set premise so that the proof works
set the table for six
set a timer for ten minutes
set up a virtual environment
set x to 3 and solve for y
set premises are lemmas of set theory
change the colour of the button to blue
change every British spelling to American
clear the cache and try again
clear state machine from memory when the test ends
clear state law exists on this point
clear premise, weak conclusion: grade this essay
reset the password of user 42
reset policies are described in chapter 3
reset policies and procedures for the lab, draft an outline
remove the last paragraph
remove duplicates from this list
""".strip().splitlines()

DIRECTIVES = """
use docker
use Docker Compose
use the metric system
use british english
use bullet points
use formal tone
use python 3.12
use c++
use node.js
use type hints
use 4 spaces
use uv
use react native
use salt and pepper
use "answers in French"
use “the attached template” instead of "my own words"
use `git rebase --onto`
use podman instead of docker
use pytest instead of unittest
use oat milk instead of cow's milk
use
use the
use x instead of
use instead of x
prohibit peanuts
prohibit peanuts and tree nuts
prohibit emojis
prohibit passive voice
prohibit eval
prohibit don't panic
prohibit global variables
prohibit any external dependencies
prohibit the word synergy
prohibit the term end user
prohibit all emojis
prohibit
remove policy docker
remove policy passive voice
remove policy
set premise current project uses uv
set premise We write for children of six, in short sentences.
set premise I am vegetarian and allergic to peanuts
set premise
set premise to concise replies
change premise to the project moved to Python 3.12; tests run with pytest
change premise concise replies
clear premise
reset policies
clear state
use docker\t
""".strip("\n").splitlines()


@each("text", ORDINARY)
def test_ordinary_sentences_pass_by(text: str) -> None:
    assert why_ordinary(text) in ("none", "sentence", "long")


@each("text", DIRECTIVES)
def test_directives_get_through(text: str) -> None:
    assert why_ordinary(text) == ""


def test_lines_and_lengths() -> None:
    assert why_ordinary("use docker\nprohibit podman") == "lines"
    assert why_ordinary("set premise one\u2028two") == "lines"
    assert why_ordinary("use docker\n") == ""
    assert why_ordinary("set premise " + "word " * 90) == ""
    assert why_ordinary("set premise " + "word " * 110) == "long"
    assert why_ordinary("use " + "x" * 65) == "long"
    assert why_ordinary("use one two three four five six seven") == "long"
    assert why_ordinary("use " + "x" * 5_000_000) == "long"


@given(st.text(max_size=40))
def test_what_is_no_directive_stays_none(text: str) -> None:
    assert why_ordinary(f"x {text}") == "none"


@given(st.sampled_from(ORDINARY), st.sampled_from(["Please ", "Can you ", "Then "]))
def test_a_sentence_with_words_in_front_is_none(text: str, front: str) -> None:
    assert why_ordinary(front + text) == "none"


@each("unit", ["a", " ", "( ", "- ", '"', "and ", "\u0301", ". "])
def test_hostile_text_takes_linear_time(unit: str) -> None:
    assert_linear(why_ordinary, lambda size: "use " + repeated(unit)(size), 100_000)  # refused for its length
    assert_linear(why_ordinary, lambda size: "use " + repeated(unit)(size), 50)  # short enough to be read


CASES = Path(__file__).parent / "cases"


def cases(section: str) -> list[str]:
    found: list[str] = []
    for path in sorted(CASES.glob("*.txt")):
        at = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("["):
                at = line.strip("[]")
            elif not line.startswith("#") and at == section:
                found.append(line)
    return found


def test_the_cases_are_there() -> None:
    assert (len(cases("ordinary")), len(cases("directive"))) == (422, 194)


def said(*texts: str) -> Placement:
    """A conversation in which the model answered all but the last message, or we did."""
    turns: list[Turn] = []
    for text in texts:
        turns.append(Turn("user", text))
        placed = place(turns)
        turns.append(Turn("assistant", placed.verdict.text or "answer"))
    return place(turns[:-1])


@each("text", cases("ordinary"))
def test_what_may_be_a_request_is_answered_by_the_model(text: str) -> None:
    laid_down = ["use docker", "prohibit emojis", *([] if text.startswith("change") else ["set premise p"])]
    for before in ([], ["write a poem about the sea"], laid_down):
        assert said(*before, text).verdict.kind == "forward"
        assert said(*before, text, "and then?", text).verdict.kind == "forward"  # it is no less a request the second time


@each("text", cases("directive"))
def test_a_directive_is_in_force_whoever_answers_it(text: str) -> None:
    placed = said("set premise p", "use ruff", text) if text.startswith(("clear", "reset")) else said(text)
    assert placed.verdict.kind in ("forward", "acknowledge")
    if text.startswith(("clear", "reset")):
        assert placed.state != State("p", {"ruff": "use"})
    else:
        assert len(placed.state.policies) + (placed.state.premise is not None) == 1
    if placed.verdict.kind == "forward":
        assert placed.pins


HELD = State("p", {"docker": "use", "option 2": "use", "section": "use", "red": "prohibit"})


@each(
    ("text", "expected"),
    [
        ("remove policy option 2", "certain"),  # what got in gets out
        ("remove policy section", "certain"),
        ("remove policy heading", "doubtful"),
        ("remove policy docker", "certain"),
        ("use red", "certain"),  # it contradicts the state
        ("prohibit section", "certain"),
        ("use section", "doubtful"),  # it changes nothing
        ("use docker", "certain"),
        ("use podman instead of docker", "certain"),
        ("use charcoal instead of podman", "doubtful"),
        ("use charcoal instead of docker", "doubtful"),
        ("use blue instead of red", "doubtful"),
        ('use "affect" instead of "effect"', "doubtful"),  # a correction of a text
        ('use "podman" instead of docker', "certain"),
        ("set premise about the old harbour", "ordinary"),
        ("change premise to something like that", "ordinary"),
        ("change premise to q", "certain"),
        ("change premise to q. then write it down", "doubtful"),
        ("set premise we bake bread, and suggest a name", "doubtful"),
        ("set premise we bake bread and cakes", "certain"),
        ("set premise", "certain"),
        ("use", "doubtful"),
        ("prohibit", "doubtful"),
        ("use option ２", "ordinary"),
        ("use curl example pages", "ordinary"),
        ("use ssh keys", "ordinary"),
        ("prohibit rm root", "ordinary"),
        ("use docker？", "ordinary"),
        ("use OPTION B", "ordinary"),
        ("use option (b)", "ordinary"),
        ("use 'option' 2", "ordinary"),
        ("hello", "ordinary"),
    ],
)
def test_how_sure_it_is(text: str, expected: str) -> None:
    assert certainty(text, HELD) == expected


def test_a_question_is_not_asked_in_doubt() -> None:
    for text in ("use charcoal instead of ink", "set premise to a lost city", "change premise to q", "use", "remove policy"):
        placed = said(text)
        assert (placed.verdict.kind, placed.state, placed.machine.pending) == ("forward", State(), None)


def test_settled_names_are_directives() -> None:
    words = lexicon("directives")
    names = {section: sorted(name.replace("_", " ") for name in words[section]) for section in ("tools", "conventions", "banned")}
    for section, verb in (("tools", "use"), ("tools", "prohibit"), ("conventions", "use"), ("banned", "prohibit")):
        assert [name for name in names[section] if certainty(f"{verb} {name}", State()) != "certain"] == []
        assert [name for name in names[section] if certainty(f"{verb} {name} please", State()) != "ordinary"] == []
    assert [name for name in names["banned"] if certainty(f"use {name}", State()) == "certain"] == []


SHARED = Path(os.environ.get("EVALUATION_SHARED", Path(__file__).parents[4] / "shared")) / "data" / "audit" / "guard.tsv"


@pytest.mark.skipif(not SHARED.is_file(), reason=f"no sentences at {SHARED}; EVALUATION_SHARED names another place")
def test_the_sentences_of_an_audit() -> None:
    rows = [line.split("\t") for line in SHARED.read_text(encoding="utf-8").splitlines()]
    assert [text for text, kind in rows if kind == "ordinary" and said(text).verdict.kind != "forward"] == []
    held = {text: said("set premise p", "use ruff", text).state for text, kind in rows if kind == "directive"}
    assert [text for text, state in held.items() if state == State("p", {"ruff": "use"})] == []


def test_a_text_is_too_long_for_a_directive_from_twice_a_premise_on() -> None:
    text = "the plan for the harbour is this. " * MAX_PREMISE_CHARS
    assert [why_ordinary(text[: 2 * MAX_PREMISE_CHARS + more]) for more in (0, 1)] == ["none", "long"]
