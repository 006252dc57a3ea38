"""What is read in short messages that ask for something, tell or change it (``tests.support.golden`` says when to write the file
anew).

These tests cover messages, and texts below a question, that small changes of the rules tell apart: they were searched for by
machine, for rules of `text.dialogue`. They leave out what a fold makes of them (``fold``), how sentences hold together
(``test_golden_borders_of_rules.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.support import golden
from turnfold.compression.memo import Memo, digest
from turnfold.compression.text import words
from turnfold.compression.text.dialogue import (
    echoes,
    handed_files,
    overall,
    own_words,
    replaced_lines,
    requests,
    self_statements,
    short_exchanges,
    signals,
    standings,
    told_before,
    transcripts,
    turns,
    updates,
    worked_examples,
)
from turnfold.compression.text.dialogue.standing import constraints, manner, once, orders
from turnfold.compression.text.dialogue.wanted import (
    code_blocks,
    code_definitions,
    code_edits,
    code_files,
    code_parts,
    entry_requests,
    judging,
    keyed_blocks,
    mails,
    materials,
    moments,
    offers,
    picks,
    places,
    printed_text,
    row_numbers,
    row_requests,
    sections,
    series,
    several_works,
    symbols,
    versions,
    works,
)
from turnfold.compression.text.quotes import Source
from turnfold.compression.text.records import rows

_HERE: Final = Path(__file__).parent
_LETTER: Final = works.named_work("the letter")
_ROWS: Final = frozenset(row_requests.row_terms("name,city,amount\nAnna,Berlin,12\nBen,Berlin,30\nCy,Oslo,41", [(0, 60)]))


def _sources(text: str) -> list[Source]:
    """The lines of a text, as users and assistants say them in turn."""
    return [Source(("user", "assistant")[i % 2], line, digest(line, str(i))) for i, line in enumerate(text.split("\n"))]


def _below(text: str) -> tuple[str, str]:
    """The first line of a text, and what stands below it."""
    question, _, held = text.partition("\n")
    return question, held


def _sections_named(text: str) -> Any:
    question, held = _below(text)
    named = sections.named_sections(question)
    some = sections.text_sections(held)
    found = [(one, by) for one in some for by in (True, False) if sections.is_named(one, named, by_title=by)]
    return found, [sections.part_within(held, one.place, named.within) for one, _ in found]


def _blocks_named(text: str) -> Any:
    question, held = _below(text)
    named, blocks = keyed_blocks.named_keys(question), keyed_blocks.keyed_blocks(held, 2)
    found = [n for n, one in enumerate(blocks) if keyed_blocks.is_named(one, named.terms)]
    told = [(keyed_blocks.path_of(blocks, n), sorted(keyed_blocks.first_words(held, blocks[n].place))) for n in found]
    lines: list[Any] = []
    for place in (blocks[n].place for n in found):
        values = keyed_blocks.single_values(held, place)
        lines += [keyed_blocks.lines_with(held, place, named.terms), keyed_blocks.lines_valued(values, named.terms)]
    return found, told, lines, keyed_blocks.mentions(held, named.terms), keyed_blocks.holding(blocks, len(held) // 2)


def _moments_named(text: str) -> Any:
    question, held = _below(text)
    moment, lines = moments.named_moment(question), moments.timed_lines(held)
    return moments.lines_at(lines, moment) if moment and lines else None


def _places_named(text: str) -> Any:
    question, held = _below(text)
    parts = places.named_parts(words.fold(question))
    return parts and (places.placed(held, parts), places.last_number(held, parts.noun))


def _files_named(text: str) -> Any:
    question, held = _below(text)
    named, parts = code_parts.named_parts(question), code_files.file_parts(held)
    calls = code_parts.call_places(question)
    at = [code_files.line_range(held, part, line, 2) for part in parts for line in (1, 4, *(call.line for call in calls))]
    return [[code_files.is_path(part.path.casefold(), name) for name in named.files] for part in parts], at


def _rows_asked(text: str) -> Any:
    tallies = row_requests.tally_terms(text)
    question, held = _below(text)
    of_text = row_requests.row_terms(held, rows(held)) if held else _ROWS
    about = [(row_requests.are_about(tallies, some), row_requests.names_rows(tallies, some)) for some in (_ROWS, of_text)]
    folded, held = words.fold(question), words.fold(held)
    return (
        sorted(tallies),
        about,
        row_requests.names_others(question, held),
        row_requests.tells_change(folded, frozenset(held.split())),
    )


#: What is read in one text.
_READ: Final[Mapping[str, Callable[[str], Any]]] = {
    "sections": lambda text: (sections.named_sections(text), sections.asks_for_contents(text), sections.text_sections(text)),
    "sections named": _sections_named,
    "blocks": lambda text: [
        keyed_blocks.is_report(text),
        [(sorted(one.keys), one[1:]) for one in keyed_blocks.keyed_blocks(text, 2)],
    ],
    "blocks named": _blocks_named,
    "keys": lambda text: [sorted(one) if isinstance(one, frozenset) else one for one in keyed_blocks.named_keys(text)],
    "moments": lambda text: (moments.timed_lines(text), (at := moments.named_moment(text)) and (at[:3], sorted(at.said))),
    "moments named": _moments_named,
    "places": _places_named,
    "rows": _rows_asked,
    "mails": lambda text: (mails.is_mail(text), mails.mail_places(text), sorted(mails.mail_names(text))),
    "offers": lambda text: (offers.offered(text), series.asks_for_word(text), series.series_label(text)),
    "corrects": lambda text: series.corrects(*_below(text)),
    "picks": lambda text: (picks.place_named(text), picks.picks(_sources(text), Memo())),
    "picked": lambda text: picks.picked(Source("assistant", _below(text)[1], b""), Source("user", _below(text)[0], b"")),
    "code": lambda text: [
        [(one.place, sorted(one.names)) for one in code_blocks.code_blocks(text, is_bare=False)],
        code_blocks.code_ranges(text, is_bare=True),
        code_edits.code_edits(text),
        code_edits.has_edits(text),
    ],
    "definitions": lambda text: [
        [*code_definitions.definitions(text)],
        printed_text.bare_code(text),
        [*printed_text.printed_definitions(text)],
    ],
    "symbols": lambda text: ([*symbols.used_symbols(text)], [*symbols.definitions(text)]),
    "files": lambda text: (code_files.file_parts(text), code_parts.call_places(text)),
    "files named": _files_named,
    "materials": lambda text: [*materials.materials(text)],
    "answers": lambda text: (
        entry_requests.says_done(text),
        entry_requests.asks_to_do(*_below(text)),
        echoes.is_echo(*_below(text)),
    ),
    "orders": lambda text: (orders.standing_orders(text), orders.orders_nothing(text), orders.begins_with_command(text)),
    "sentence": lambda text: (
        orders.is_standing_order(text),
        constraints.is_constraint(text),
        manner.tells_manner(text),
        once.is_for_once(text),
    ),
    "weights": lambda text: [
        self_statements.statement_weight(text),
        self_statements.fact_weight(text),
        signals.asks(text),
        signals.signals(text),
        signals.signal_weight(text),
        signals.rule_weight(text),
    ],
    "own": lambda text: [
        sorted(own_words.own_words(text.split("\n"))),
        own_words.beside_pasted(text),
        own_words.beside_output(text),
        own_words.is_only_output(text),
        own_words.asks(text),
    ],
    "told": lambda text: (told_before.told_before(text), handed_files.hands_over_files(text)),
    "turns": lambda text: (transcripts.cues(text), transcripts.is_transcript(text), turns.turn_starts(text)),
    "forms": lambda text: (worked_examples.input_forms(text), worked_examples.answer_forms(text)),
    "has form": lambda text: _LETTER and works.has_form(text, _LETTER),
}

#: What is read in a case-folded message.
_ASKED: Final[Mapping[str, Callable[[str], Any]]] = {
    "work": lambda said: [
        _work(one) for one in (works.asked_work(said), works.named_work(said), several_works.asked_several(said))
    ],
    "again": lambda said: [
        _work(works.asked_again(said, "proofread the contract")),
        _work(works.asked_again("now correct it", said)),
        _work(works.asked_again("is it any good?", said)),
    ],
    "making": lambda said: (
        works.begins_making(said),
        (made := works.making_request(said)) and (sorted(made.names), made.text, _LETTER and made.asks_for(_LETTER)),
        several_works.asks_for_one_more(said),
        several_works.asks_for_one_more(said, alone=True),
    ),
    "versions": lambda said: [
        versions.asked_versions(said),
        versions.asks_to_revise(said),
        versions.names_number(said),
        versions.version_behind(said),
    ],
    "judged": judging.judging_sentences,
    "series": lambda said: (series.kinds_asked_over(said), series.asks_for_moves(said), series.names_label(said, "translate")),
    "offer": lambda said: (offers.named_offer(said), offers.named_labels(said), offers.label_of(said)),
    "rows of": lambda said: [
        row_requests.asks_over_rows(said),
        row_requests.names_data(said),
        row_requests.names_certain_data(said),
        row_requests.is_bare(said),
        row_requests.goes_on_asking(said),
        row_requests.needs_others(said),
        row_requests.asked_fields(said),
        row_requests.asked_of_rows(said),
        row_requests.joins_values(said),
        sorted(row_requests.words_of_kinds(said)),
        row_requests.held_fields(said),
        row_numbers.named_row_numbers(said),
        [*map(row_requests.is_tally_word, said.split())],
    ],
    "mails of": lambda said: (named := mails.named_mails(said)) and (named.place, sorted(named.said)),
    "parts": lambda said: (
        (found := code_parts.named_parts(said))
        and (
            found.files,
            sorted(found.names),
            sorted(found.joined),
            found[3:],
            sections.may_be_listed(sections.named_sections(said)),
        )
    ),
    "needs": lambda said: [
        materials.needed_kinds(said),
        materials.needs_code(said),
        materials.names_all_code(said),
        materials.is_about_all_code(said),
        entry_requests.asks_over_entries(said),
    ],
    "all": lambda said: (overall.asks_for_overall(said), overall.without_overall(said), told_before.points_back(said)),
    "request": lambda said: [
        requests.asks_for_cover(said),
        requests.asks_for_all(said),
        requests.asks_for_compaction(said),
        requests.asks_for_whole(said),
        requests.without_whole(said),
        requests.asks_for_beginning(said),
        requests.without_beginning(said),
        requests.without_cover_words(said),
        requests.without_asking(said),
        requests.without_empty_phrases(said),
    ],
}


def _work(found: works.AskedWork | None) -> Any:
    """All of a work, with its sets in order."""
    if found is None:
        return None
    sets = sorted(found.telling), sorted(found.alike)
    return *sets, found._replace(telling=frozenset(), alike=frozenset(), beside=()), [_work(one) for one in found.beside]


def _earlier(text: str) -> Any:
    some, memo = _sources(text), Memo()
    earlier = standings.earlier_standings(some[:-3], memo)
    return standings.standings_behind(earlier, some[-3:], memo)


#: What is read in the lines of a text, as if they were messages of a talk.
_TALKED: Final[Mapping[str, Callable[[str], Any]]] = {
    "renewals": lambda text: updates.updates(_sources(text), Memo()),
    "standings": lambda text: standings.standings(_sources(text), Memo()),
    "standings behind": _earlier,
    "echoes": lambda text: (echoes.echoes(_sources(text), Memo()), [*short_exchanges.short_exchanges(_sources(text))]),
    "edits": lambda text: replaced_lines.holds_edits(_sources(text), Memo()),
    "speakers": lambda text: (turns.is_labelled(_sources(text), Memo()), turns.several_speak(_sources(text), Memo())),
}


def _of_folded(read: Callable[[str], Any], text: str) -> Any:
    return read(words.fold(text))


READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    **_READ,
    **{name: partial(_of_folded, read) for name, read in _ASKED.items()},
    **_TALKED,
}


def test_requests_at_the_borders_of_rules() -> None:
    """A line for each text, with all that is read in it by the readers that it was found for."""
    lines = []
    for line in (_HERE / "cases" / "requests.jsonl").read_bytes().decode().splitlines():
        text, *names = json.loads(line)
        lines.append(f"{text[:50]!r} {golden.name_of([READERS[name](text) for name in names])}")
    golden.agrees(_HERE / "golden" / "requests.txt", lines)
