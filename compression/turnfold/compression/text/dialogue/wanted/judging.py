"""Messages that have something judged as a whole: compared, checked, summarized, explained; and those that go back to what was
said of it: "apply your suggestions", "the bugs that you found".

This module recognises such messages. What they are about is read in ``works``; which remarks are meant is decided in
``recall.wholes.works.remarks``. Single words are in ``lexicon/works.txt`` and ``lexicon/remarks.txt``.

Whoever asks for mistakes, risks, the tone or the main points of a text needs all of it, though the question shares no word with
it. In a question any such word suffices; a request needs a verb at its beginning; a report ("I checked it") asks nothing.
"""

from __future__ import annotations

from typing import Final

from turnfold.compression import lazy
from turnfold.compression.memo import remembering
from turnfold.compression.text import words
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.sentences import rough_sentences
from turnfold.compression.text.spans import QUESTION_MARKS

_TABLES: Final = lexicon("works")
_JUDGING: Final = _TABLES["judging"]
_NOUNS: Final = _TABLES["prose"]  # "resume" may be one, or say what is to be done
#: Words that ask about a work as a whole.
JUDGED: Final = (_TABLES["judged"] | _JUDGING) - _NOUNS
_PHRASES: Final = lazy.pattern(rf"\b(?:{one_of('works', 'judged phrases')})\b")
_RUN_ON: Final = lazy.pattern(one_of("works", "run-on judged"))
_SPEAKERS: Final = lexicon("speech")["speakers"]  # whoever tells something
#: What is looked up in a text, "according to the report", is not asked of the text.
_ACCORDING: Final = lazy.pattern(
    r"\b(?:according to|laut|gemäß|selon|d['’]après|según|secondo|segundo|volgens|согласно|według)\b"
)
_ASKING: Final = _TABLES["asking"]
_MOST_WORDS: Final = 15  # of a question without a question mark
_FIRST_WORDS: Final = 4  # first words of a sentence, among which its verb is
_LONGEST: Final = 400  # characters of a request that refers to remarks; a longer one contains them
_BETWEEN: Final = r"(?:[^\W_][\w'-]* ){0,3}"  # "your two other review comments"
_REMARKS: Final = lazy.pattern(
    rf"(?<!\w)(?:(?:{one_of('remarks', 'own')}) {_BETWEEN}(?:{one_of('remarks', 'remarks')})"
    rf"|{one_of('remarks', 'remarked')})(?!\w)"
    rf"|{one_of('remarks', 'run-on')}"
)


@remembering
def judging_sentences(folded: str) -> str:
    """The sentences of a case-folded message that ask for an opinion on something as a whole; "" if there are none.

    In a script without spaces, the whole message.
    """
    if not folded.isascii() and _RUN_ON.search(folded):
        return folded
    if not speaks_of_judging(folded):
        return ""
    return " ".join(sentence for start, end in rough_sentences(folded) if _has_judged(sentence := folded[start:end]))


def speaks_of_judging(folded: str) -> bool:
    """Whether a case-folded text has a word for an opinion on a work, or for its qualities."""
    said = words.words(folded)
    return not (JUDGED.isdisjoint(said) and _JUDGING.isdisjoint(said)) or _PHRASES.search(folded) is not None


def _has_judged(sentence: str) -> bool:
    said = words.words(sentence)
    asks = sentence.rstrip().endswith(QUESTION_MARKS) or (len(said) <= _MOST_WORDS and not _ASKING.isdisjoint(said[:1]))
    if asks and not _ACCORDING.search(sentence) and not (JUDGED.isdisjoint(said) and not _PHRASES.search(sentence)):
        return True
    begins = said[:1] if said[:1] and said[0] in _NOUNS else [word for word in said[:_FIRST_WORDS] if word not in _NOUNS]
    return not _JUDGING.isdisjoint(begins) and said[0] not in _SPEAKERS


@remembering
def refers_to_remarks(folded: str) -> bool:
    """Whether a case-folded message refers to earlier remarks of the chat."""
    return len(folded) <= _LONGEST and _REMARKS.search(folded.replace("’", "'")) is not None
