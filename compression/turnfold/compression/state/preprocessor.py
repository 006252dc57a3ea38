"""Rewrites messages that mean one directive but miss its exact form, by conservative rules.

The rules, and the check that every candidate (from a rule or a model) must pass. Nothing is applied, and no intent is read out of
prose: the whole message is one directive or it is none. "Use Docker." is one; "please use docker", "use docker?" and "he said
'use docker'" are not. While a question is pending nothing is rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, TypedDict

from turnfold.compression import lazy
from turnfold.compression.errors import InvalidInput
from turnfold.compression.state.engine import Engine
from turnfold.compression.state.grammar import Directive, parse
from turnfold.compression.state.guard import why_ordinary
from turnfold.compression.state.serial import parse_json
from turnfold.compression.state.wording import MAX_TEXT

PreprocessOutcome = Literal["directive", "no_directive", "unknown"]
PREPROCESS_OUTCOME_DIRECTIVE: Final = "directive"
PREPROCESS_OUTCOME_NO_DIRECTIVE: Final = "no_directive"
PREPROCESS_OUTCOME_UNKNOWN: Final = "unknown"
PREPROCESSOR_NO_DIRECTIVE_SENTINEL: Final = "<NO_DIRECTIVE>"


class PreprocessResult(TypedDict):
    """`output` is a canonical directive where `classification` is "directive", else None."""

    classification: PreprocessOutcome
    output: str | None


_WRAPPERS: Final = {"(": ")", "[": "]"}
_VERBS: Final = "set premise|change premise|clear premise|reset policies|clear state|remove policy|use|prohibit"
# Words by which a directive might be meant; a message without any of them contains none.
_CUES: Final = lazy.pattern(
    r"\b(?:use[sd]?|using|prohibit\w*|allow|forbid|ban|stop|avoid|premise|polic(?:y|ies)|(?:clear|reset|wipe)\s+(?:the\s+)?state)\b"
)
_SECOND: Final = lazy.pattern(rf"(?:\b(?:and|then|or|but)\b|[;,.])\s*(?:{_VERBS})\b")
_PREFIXES: Final = lazy.pattern(rf"(?:{_VERBS})(?= |$)(?: to(?= |$))?", re.IGNORECASE)


def _result(classification: PreprocessOutcome, output: str | None = None) -> PreprocessResult:
    return {"classification": classification, "output": output}


def preprocess_heuristic(message: str) -> PreprocessResult:
    """Classify a whole message by rules alone."""
    if len(message) > MAX_TEXT:
        return _result("unknown")
    candidate = _canonical(message)
    if len(message.strip().splitlines()) == 1 and _is_directive(candidate):
        return _result("directive", candidate)
    return _result("unknown" if _CUES.search(message.lower()) else "no_directive")


def _canonical(message: str) -> str:
    """The message without closing punctuation, one pair of brackets, upper case and extra blanks; a premise keeps its case."""
    bare = message.strip().rstrip(".!").rstrip()
    if len(bare) > 1 and _WRAPPERS.get(bare[0]) == bare[-1]:
        bare = bare[1:-1]
    bare = " ".join(bare.split())
    verb = _PREFIXES.match(bare)
    if verb is None:
        return bare
    head, rest = verb.group().lower(), bare[verb.end() :]
    return head + (rest if "premise" in head else rest.lower())


def _is_directive(text: str) -> bool:
    return isinstance(parse(text), Directive) and not why_ordinary(text) and not _SECOND.search(text.lower())


def validate_preprocessor_output(raw_output: object, *, source_input: str | None = None) -> PreprocessResult:
    """Check a proposal of a rule or a model: a canonical directive, the sentinel, or a JSON value with both fields.

    Args:
        raw_output: text, or a mapping of exactly `classification` and `output`.
        source_input: the message that it was made from; if given, the message itself must mean that directive.
    """
    found = _read_text(raw_output) if isinstance(raw_output, str) else _read_value(raw_output)
    if source_input is None or found["classification"] != "directive" or _says(source_input, found["output"]):
        return found
    return _result("unknown")


def _says(source: str, directive: str | None) -> bool:
    """Whether a whole message means that directive (or is the JSON value that proposes it)."""
    if preprocess_heuristic(source)["output"] == directive:
        return True
    return source.lstrip().startswith("{") and _read_text(source)["output"] == directive


def _read_text(text: str) -> PreprocessResult:
    stripped = text.strip()
    if len(stripped) > MAX_TEXT:
        return _result("unknown")
    if stripped.upper() == PREPROCESSOR_NO_DIRECTIVE_SENTINEL:
        return _result("no_directive")
    if stripped.startswith("{"):
        return _read_json(stripped)
    return _result("directive", stripped) if _is_directive(stripped) else _result("unknown")


def _read_json(text: str) -> PreprocessResult:
    try:
        return _read_value(parse_json(text, "output"))
    except InvalidInput:
        return _result("unknown")


def _read_value(value: object) -> PreprocessResult:
    if not isinstance(value, Mapping) or set(value) != {"classification", "output"}:
        return _result("unknown")
    classification, output = value["classification"], value["output"]
    if classification == "no_directive" and output is None:
        return _result("no_directive")
    if classification != "directive" or not isinstance(output, str) or output.lstrip().startswith("{"):
        return _result("unknown")
    found = _read_text(output)
    return found if found["classification"] == "directive" else _result("unknown")


def parse_preprocessor_output(raw_output: object, *, source_input: str | None = None) -> str | None:
    """The directive in a checked proposal; None if there is none."""
    return validate_preprocessor_output(raw_output, source_input=source_input)["output"]


def preprocess(engine: Engine, message: str) -> str:
    """What to pass to the engine for a message: its directive, or the message itself if there is none or a question is
    pending."""
    if engine.has_pending_clarification():
        return message
    proposed = preprocess_heuristic(message)["output"]
    checked = parse_preprocessor_output(message if proposed is None else proposed, source_input=message)
    return message if checked is None else checked
