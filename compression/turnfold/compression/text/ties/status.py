"""Statuses of a whole page, or of the rest of a paragraph: "DRAFT, not approved", "Bozza: ...".

This module recognises such a line or head, and knows what it covers at the top of a text or at the beginning of a line, also for
quoted parts of a text. Frames of a single paragraph or list are in ``near.introduced``, heads of three and more words in
``paragraph``.

A status is recognised by its form: a few words between punctuation marks, half of which say how far something is valid. "Draft a
letter to my landlord." is not one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.spans import STOPS
from turnfold.compression.text.ties.paragraph import HEADED
from turnfold.compression.text.ties.pieces import ITEM, StatementPiece, before_in_line

Pair = tuple[int, int]
Range = tuple[int, int]

_TIES: Final = lexicon("ties")
_STATUS: Final = _TIES["status"]
#: Words for what is valid, which limit nothing without a "not".
_REACHED: Final = _TIES["status-reached"]
_NOT: Final = _TIES["negative"] - _TIES["weakly-negative"]
_LIMITS: Final = _NOT | _STATUS | _TIES["only"] | _TIES["excluding"] | _TIES["holds"]
_SCOPES: Final = _TIES["settings"] - frozenset(("a", "no", "na", "o", "w", "z", "i", "in", "en", "to"))
_DENSE: Final = tuple(_TIES["status-run-on"])
_DENSE_SCRIPT: Final = lazy.pattern(r"[\u3040-\u30ff\u3400-\u9fff]")
_STRETCHES: Final = lazy.pattern(r"[,;!?()\[\]（）：，；、。「」【】|*_#\"“”]|[.:/–—-](?=\s|\Z)")
_IN_BRACKETS: Final = lazy.pattern(r"[(\[（【]\s*([^()\[\]（）【】\n]{2,80})[)\]）】]")
#: A word of its own, none of an address or a path.
_WORD: Final = lazy.pattern(r"(?<![\w.@/-])[^\W\d_]+(?:['’-][^\W\d_]+)*(?![\w@/]|\.\w)")
_ON: Final = _REACHED | frozenset(("enabled", "active", "live", "visible", "allowed", "on"))
_STATES: Final = (["status"], ["state"], ["result"], ["decision"], ["stage"])
_FALSE: Final = frozenset(("false", "no", "off"))
_TRUE: Final = frozenset(("true", "yes", "on"))
_NAME_WORDS: Final = 2  # of a setting's key that says whether the whole holds
_SET: Final = lazy.pattern(r"""[ \t]*(?:- )?["']?([\w.-]+)["']?[ \t]*[:=][ \t]*["']?([^\s"',]+)["']?,?[ \t]*(?:[#/].*)?""")
_OPENS: Final = (":", "{", "[", "(")
_DOCUMENTS: Final = _TIES["documents"]
_THIS: Final = _TIES["demonstratives"] | frozenset(("questo", "questa", "dit", "deze", "ta", "ten", "bu", "denna", "detta"))
_LIMITED: Final = _NOT | _STATUS | _TIES["going-on"] | _TIES["ending"]
_SELF_WORDS: Final = 16
_BRACKET_ENDS: Final = (")\n", "]\n", "）\n", "】\n")
_BLANK_LINE: Final = lazy.pattern(r"\n[ \t]*\n\s*\Z")
_FEW: Final = 6  # words of a status
_NEAR: Final = 4  # words within which brackets say what is not reached
_FEW_DENSE: Final = 10  # characters
_TOP: Final = 12  # sentences among which a page's status stands, titles and fields alone before it
_TOP_CHARACTERS: Final = 600
_HEAD: Final = 80  # characters of a head that stands in its line
_COLONS: Final = lazy.pattern(r"[ \u00a0]?[:：](?=\s|[^\W\d_])")
_ENDS: Final = (*f".!?。！？{STOPS}",)
_HEADING: Final = lazy.pattern(r"#{1,6}[ \t]+(?=\S)")
_FARTHEST: Final = 4000  # characters from a part to its heading


def is_status(line: str) -> bool:
    """Whether a line, a head or the text in its brackets says how far something is valid."""
    if any(_tells(stretch) for stretch in _STRETCHES.split(line)):
        return True
    return any(_begins(inside) for inside in _IN_BRACKETS.findall(line))


def _tells(stretch: str) -> bool:
    if _DENSE_SCRIPT.search(stretch):
        return len(stretch.strip()) <= _FEW_DENSE and any(map(stretch.__contains__, _DENSE))
    said = [*map(str.lower, _WORD.findall(stretch))]
    if not 0 < len(said) <= _FEW:
        return False
    denies = not _NOT.isdisjoint(said)
    if _STATUS.isdisjoint(said) and not (denies and not _REACHED.isdisjoint(said)):
        return False
    return 2 * sum(word in _STATUS or word in _NOT or (denies and word in _REACHED) for word in said) >= len(said)


def _begins(inside: str) -> bool:
    """Whether a text in brackets begins with a status: "(superseded by Schedule B)"."""
    said = [*map(str.lower, _WORD.findall(inside))]
    if not said or said[0] not in _NOT:
        return bool(said) and said[0] in _STATUS
    return not (_STATUS.isdisjoint(said[1:_NEAR]) and _REACHED.isdisjoint(said[1:_NEAR]))


def limits_what_is_below(heading: str) -> bool:
    """Whether a heading says for whom, when or how far the text below it holds: "Only in the Netherlands", "Removed (3.0)"."""
    said = [*map(str.lower, _WORD.findall(heading))]
    return not _LIMITS.isdisjoint(said) or not _SCOPES.isdisjoint(said[:1]) or "(" in heading or is_status(heading)


def is_off(key: str, value: str) -> bool:
    """Whether a setting says that what is next to it does not apply: "enabled": false, "deprecated": true."""
    name = _WORD.findall(key.replace("_", " ").lower())
    value = value.strip().strip("\"'").lower()
    if value in _FALSE:
        return len(name) <= _NAME_WORDS and not _ON.isdisjoint(name)
    if value in _TRUE:
        return len(name) <= _NAME_WORDS and not _STATUS.isdisjoint(name)
    return name[-1:] in _STATES and value in _STATUS


def status_ties(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """Pairs of a sentence and the status above it."""
    top = _page_status(pieces)
    yield from ((i, status) for status in top for i in range(status + 1, len(pieces)))
    for i, piece in enumerate(pieces[:-1] if pieces[0].hints.introduces else ()):
        if piece.starts_line and not piece.kind and not pieces[i + 1].starts_line and _has_status_head(piece):
            for k in range(i + 1, min(len(pieces), i + 1 + HEADED)):
                if pieces[k].starts_line or pieces[k].kind:
                    break
                yield k, i
    yield from _under_status(pieces, top)
    if not _DOCUMENTS.isdisjoint(pieces[0].hints.distinct):
        yield from _of_itself(pieces)


def _under_status(pieces: Sequence[StatementPiece], top: Sequence[int]) -> Iterator[Pair]:
    """A single line just above a paragraph, with brackets that say that it does not apply: "Section 12 (repealed)"."""
    for i, piece in enumerate(pieces[:-1]):
        line = piece.text
        if piece.kind or not line.endswith(_BRACKET_ENDS) or i in top or not piece.starts_line or piece.item:
            continue  # most
        if any(map(_begins, _IN_BRACKETS.findall(line))) and len(line) <= 2 * _HEAD:
            yield from ((k, i) for k in _paragraph(pieces, i + 1))


def _of_itself(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """The sentences of a line before the one that limits all of it: "This notice is from last year and will be replaced."."""
    for i, piece in enumerate(pieces):
        said = piece.said
        if piece.starts_line or piece.kind or piece.asks or len(said) > _SELF_WORDS or _DOCUMENTS.isdisjoint(said[1:2]):
            continue  # most
        if said[0] in _THIS and not _LIMITED.isdisjoint(said[2:]):
            yield from ((k, i) for k in before_in_line(pieces, i, HEADED))


def _paragraph(pieces: Sequence[StatementPiece], k: int) -> Iterator[int]:
    """The sentences of the paragraph from `k` on, up to the next line that ends with brackets like a head."""
    while k < len(pieces) and pieces[k].kind in ("", "label") and not pieces[k].text.endswith(_BRACKET_ENDS):
        yield k
        if _BLANK_LINE.search(pieces[k].text[-40:]):
            return
        k += 1


def _page_status(pieces: Sequence[StatementPiece]) -> list[int]:
    """The lines at the top of a page that say how all of it is to be read; the first full sentences end the top."""
    found = []
    for i, piece in enumerate(pieces[:_TOP]):
        if piece.item or piece.kind not in ("", "heading", "label"):
            break
        line = piece.text.strip()
        ends = line.endswith(_ENDS)
        is_alone = piece.text.endswith("\n") and (not ends or len(piece.said) <= _FEW)
        is_noted = is_alone and piece.kind != "label" and _is_page_status(line)
        if is_noted or (piece.frames and piece.holds("sweeping")):
            found.append(i)
        elif ends:
            break
    return found


def _is_page_status(line: str) -> bool:
    return len(line) <= 2 * _HEAD and is_status(line)


def _has_status_head(piece: StatementPiece) -> bool:
    head = _COLONS.search(piece.text[: _HEAD + 2])
    return head is not None and is_status(piece.text[: head.start()].strip())


def page_status(text: str) -> list[Range]:
    """The ranges of the lines at the top of a text by which all of it is to be read; as `status_ties`, for parts of it."""
    found: list[Range] = []
    start = 0
    for line in text[:_TOP_CHARACTERS].split("\n")[:_TOP]:
        said = line.strip()
        if ITEM.match(line) or (said.endswith(_ENDS) and len(said.split()) > _FEW):
            break
        if said and _is_page_status(said):
            found.append((start, start + len(line)))
        start += len(line) + 1
    return found


def limiting_heading(at: int, text: str) -> list[Range]:
    """The heading above a part of a text, if it limits that part."""
    least = max(0, at - _FARTHEST)
    begin = at
    while (begin := text.rfind("\n#", least, begin)) >= 0:
        if _HEADING.match(text, begin + 1):
            end = text.find("\n", begin + 1)
            return [(begin + 1, end)] if 0 <= end <= at and limits_what_is_below(text[begin + 1 : end]) else []
    return []


def limiting_settings(at: int, text: str) -> Iterator[Range]:
    """The lines that say of a line of settings that it does not hold: one of the same block, or the name of one around it."""
    begin = text.rfind("\n", 0, at) + 1
    depth = _indent(text, begin)
    if not depth:
        return
    least, most = max(0, begin - _FARTHEST), begin + _FARTHEST
    yield from _switches(text, begin, depth, most)
    end = begin - 1
    while end > least and depth:
        start = text.rfind("\n", least, end) + 1
        if start <= least and least:  # the rest of a line that begins farther above
            return
        line, indent = text[start:end].rstrip(), _indent(text, start)
        if line and indent < depth:
            depth = indent
            if not line.endswith(_OPENS):
                return
            if not _LIMITS.isdisjoint(_WORD.findall(line.replace("_", " ").lower())):
                yield start, start + len(line)
            yield from _switches(text, start, depth, most)
        elif indent == depth and _is_switch(line):
            yield start, start + len(line)
        end = start - 1


def _switches(text: str, begin: int, depth: int, most: int) -> Iterator[Range]:
    """The lines behind one in the same block that switch it off."""
    start = text.find("\n", begin) + 1
    while 0 < start < most and start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line, indent = text[start:end].rstrip(), _indent(text, start)
        if line and indent < depth:
            return
        if indent == depth and _is_switch(line):
            yield start, start + len(line)
        start = end + 1


def _is_switch(line: str) -> bool:
    found = _SET.fullmatch(line)
    return found is not None and is_off(found[1], found[2])


def _indent(text: str, start: int) -> int:
    at = start
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    return at - start
