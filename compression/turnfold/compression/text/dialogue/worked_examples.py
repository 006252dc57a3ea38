"""Worked examples: inputs with their answers at the head of a conversation, from which a model learns what to do with the next.

This module recognises the forms that one example shares with the next. How many examples there are, and what is done with them,
is decided in ``fold.course``.

Few-shot prompts (Brown et al. 2020, "Language Models are Few-Shot Learners") are sent as turns too: inputs as a user's messages,
answers as the assistant's. They are the program, and quoting a part cannot replace them: they must be there, whole and in pairs.
They differ from a conversation in that all inputs begin with the same words, as a template does, and all answers have a form that
a program reads.
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon

_LABEL: Final = lazy.pattern(r"\s*(?:<[A-Za-z][\w.-]*>|[^\n:：]{1,160}[:：]|[^\n]{1,200}\n)")
_SPOKEN: Final = lazy.pattern(r"\s*[^\W\d_][^\n:：.?!,;]{0,38}[:：](?=\s)")
_PARAGRAPH: Final = lazy.pattern(r"\n\s*\n")
_FENCE: Final = lazy.pattern(r"\s*(?:```|~~~)([\w+-]*)\n.*\n(?:```|~~~)\s*\Z", re.DOTALL)
_ELEMENT: Final = lazy.pattern(r"\s*<([A-Za-z][\w.-]*)>.*</\1>\s*\Z", re.DOTALL)
_FIRST_KEY: Final = lazy.pattern(r"\s{0,99}\[?\s{0,99}\{\s{0,99}\"([^\"\n]{1,60})\"\s{0,99}:")
_KEY: Final = lazy.pattern(r"\"(\w{1,40})\"\s*:")
_LONG_VALUE: Final = lazy.pattern(r":\s*\"(?:[^\"\\]|\\.){61}")
BRIEF: Final = "brief"
SHORT: Final = "short"
#: The form of an answer of a sentence or a paragraph, which conversations have too.
FREE: Final = "free"
_MOST_FREE: Final = 1200  # characters
_TASKS: Final = frozenset(label.replace("_", " ") for label in lexicon("examples")["tasks"])
_ANSWERS: Final = _TASKS | lexicon("examples")["answers"]
_LOOKED_AT: Final = 4  # paragraphs
_MOST_SHORT: Final = 60  # characters of a class, a name or a figure
_WORD: Final = lazy.pattern(r"[^\W_]+")
#: By their first word, what those write who act step by step or who talk: their messages rest on those before.
_ROLES: Final = lexicon("speech")["protocol"]


def input_forms(text: str) -> tuple[str, ...]:
    """The forms of the beginning of a user's message, if it may be a template, and of its next paragraphs: an instruction may
    precede the first input.
    """
    paragraphs = _PARAGRAPH.split(text, _LOOKED_AT)[:_LOOKED_AT]
    labels = [found[0].strip().casefold() for part in paragraphs if (found := _LABEL.match(part)) is not None]
    return tuple([label for label in labels if not _is_role(label)])


def answer_forms(text: str) -> tuple[str, ...]:
    """The forms of an assistant's message that a program reads: the kind of its data, or that it is short; empty for any other.

    Data with only brief values, which conversation does not have, also has the form `BRIEF`.
    """
    if (key := _FIRST_KEY.match(text)) is not None:
        if any(map(_is_role, _KEY.findall(text))):
            return ()
        return (f"json {key[1]}",) if _LONG_VALUE.search(text) else (f"json {key[1]}", BRIEF)
    for kind, form in (("fence", _FENCE), ("element", _ELEMENT)):
        if (found := form.match(text)) is not None:
            return (f"{kind} {found[1]}",)
    if (label := _SPOKEN.match(text)) is not None and not _is_role(label[0]) and not _may_be_name(label[0], text[label.end() :]):
        return (f"label {label[0].strip().casefold()}",)
    if len(text) <= _MOST_SHORT and "\n" not in text.strip() and "?" not in text:
        return (SHORT,)
    return (FREE,) if len(text) <= _MOST_FREE and _PARAGRAPH.search(text.strip()) is None else ()


def _may_be_name(label: str, said: str) -> bool:
    """Whether a label may be a speaker's name ("Tim: ..."): it does not name an answer, and more than a class follows."""
    return len(said.strip()) > _MOST_SHORT and label.strip().casefold()[:-1].strip() not in _ANSWERS


def allows_free(form: str) -> bool:
    """Whether inputs of a form ask for text, such as a translation, so that answers need have no form of their own."""
    return form.endswith((":", "：")) and form[:-1].strip() in _TASKS


def _is_role(label: str) -> bool:
    first = _WORD.search(label)
    return first is not None and first[0].casefold() in _ROLES
