"""What a question names of something long that was pasted before: is all of it in the forwarded request?

    python -m benchmarks.pasted_parts [--share 0.1] [--number 20]

Code: modules of Python's standard library under the names of their files; functions and classes asked for by name, two functions
of a traceback, and everything that is defined, for a request about all of it. Documents: pages of this repository's docs;
sections asked for by heading, and the table of contents, also of one that is pasted in three messages; where two versions
differ; one of four; the next paragraph of one that is gone through. Captions: made up; a minute asked for by its time. Made-up
texts in eight other languages: sections and all headings. Each is pasted first and asked about after forty exchanges about other
things, once in a request of its own.

It has the material and the measurement. What must hold is asserted in ``tests/compression/fold/test_named_*``.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.bodies import Message, encode
from tests.support.words import prose
from turnfold.compression.fold import fold_request
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.tokens import count

_MODULES: Final = ("shlex", "sched", "calendar", "textwrap", "queue", "fractions", "netrc", "cmd", "filecmp", "contextlib")
_PAGES: Final = ("operations", "models", "clients", "security", "configuration", "dashboard")
_QUESTIONS: Final = (
    "Explain {} to me.",
    "Add logging to {}.",
    "Is there a bug in {}?",
    "How is {} implemented?",
    "Refactor {} to be shorter.",
)
_OTHER: Final = 40  # exchanges
_MINUTE: Final = 60


#: Language, form of a heading, headings; questions for a section by its title and its number, and for all.
_LANGUAGES: Final = (
    (
        "de",
        "§ {n}\n{title}",
        "Geltung|Bezahlung|Lieferung|Gewährleistung|Haftung|Kündigung|Schluss",
        "Was steht im Abschnitt {}?",
        "Erkläre mir Punkt {}.",
        "Welche Abschnitte hat der Text?",
    ),
    (
        "fr",
        "{title}",
        "Portée|Paiement|Livraison|Garantie|Responsabilité|Résiliation|Fin",
        "Résume la partie sur « {} ».",
        "Que dit le chapitre {} ?",
        "Donne-moi la table des matières.",
    ),
    (
        "ru",
        "## {n}. {title}",
        "Предмет|Оплата|Поставка|Гарантия|Ответственность|Расторжение|Итог",
        "Что сказано в разделе {}?",
        "Процитируй {}-ю главу.",
        "Дай оглавление документа.",
    ),
    (
        "zh",
        "{n}. {title}",
        "适用范围|付款条件|交货期限|质量保证|责任|终止|最终条款",
        "关于{}的部分说了什么?",
        "请解释第{}条。",
        "给我文档的目录。",
    ),
    (
        "ja",
        "## {n}. {title}",
        "適用範囲|支払条件|納期|保証|責任|契約解除|最終規定",
        "{}の章には何が書いてありますか。",
        "{}番の項目を説明して。",
        "文書の目次をください。",
    ),
    (
        "ko",
        "{n}. {title}",
        "적용 범위|지급 조건|납품 기한|품질 보증|책임|계약 해지|최종 규정",
        "{}에 관한 부분을 요약해 줘.",
        "{}장에는 뭐라고 쓰여 있어?",
        "문서의 목차를 알려 줘.",
    ),
    (
        "ar",
        "المادة {n}\n{title}",
        "النطاق|الدفع|التسليم|الضمان|المسؤولية|الإنهاء|الختام",
        "لخص قسم {}.",
        "ماذا تقول المادة {}؟",
        "أعطني فهرس المستند.",
    ),
    (
        "hi",
        "{n}. {title}",
        "लागू क्षेत्र|भुगतान शर्तें|डिलीवरी समय|वारंटी|दायित्व|समाप्ति|अंतिम प्रावधान",
        "{} वाले खंड में क्या लिखा है?",
        "धारा {} समझाओ।",
        "दस्तावेज़ की विषय सूची दो।",
    ),
)


class _Case(NamedTuple):
    """What is pasted, what is asked about it, the lines that the answer needs, further pieces of what is pasted, and the language
    of the talk."""

    pasted: str
    question: str
    needed: Sequence[str]
    pieces: Sequence[str] = ()
    language: str = "en"


def code() -> dict[str, str]:
    """The source of each module by the path under which it is pasted."""
    return {f"src/{name}.py": inspect.getsource(importlib.import_module(name)) for name in _MODULES}


def _pasted(files: dict[str, str]) -> str:
    return "Here is my code.\n\n" + "\n\n".join(f"### {path}\n```python\n{text}\n```" for path, text in files.items())


def _definitions(files: dict[str, str]) -> Iterator[tuple[str, str, int, list[str]]]:
    """Path, name, first line and lines of definitions of 5 to 60 lines whose name stands once and looks like code."""
    found = []
    for path, text in files.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.end_lineno:
                lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
                found.append((path, node.name, node.lineno, lines))
    names = [name for _, name, _, _ in found]
    for path, name, first, lines in found:
        is_telling = "_" in name.strip("_") or name != name.lower()
        if names.count(name) == 1 and is_telling and 5 <= len(lines) <= 60:
            yield path, name, first, lines


def _telling(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines if len(line.strip()) > 3]


def named_code(number: int, draw: random.Random) -> Iterator[_Case]:
    """Definitions by their names."""
    files = code()
    for n, (path, name, _, lines) in enumerate(draw.sample([*_definitions(files)], number)):
        yield _Case(_pasted(files), _QUESTIONS[n % len(_QUESTIONS)].format(name), [path, *_telling(lines)])


def tracebacks(number: int, draw: random.Random) -> Iterator[_Case]:
    """Two functions of an error."""
    files = code()
    every = [*_definitions(files)]
    for _ in range(number):
        calls = draw.sample([one for one in every if len(one[3]) <= 40], 2)
        frames = "".join(
            f'  File "/srv/app/{path}", line {first + 2}, in {name}\n    {lines[2].strip()}\n'
            for path, name, first, lines in calls
        )
        error = f"I get this:\n\nTraceback (most recent call last):\n{frames}ValueError: bad value\n\nHow do I fix it?"
        yield _Case(_pasted(files), error, [line for _, _, _, lines in calls for line in _telling(lines)])


def all_code(number: int, draw: random.Random) -> Iterator[_Case]:
    """Everything that is defined at the outermost level, and the files."""
    files = dict(draw.sample([*code().items()], 7))
    heads = [
        f"{'class' if isinstance(node, ast.ClassDef) else 'def'} {node.name}"
        for text in files.values()
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    asks = (
        "Explain the architecture of the project.",
        "Review the code.",
        "Which classes are there?",
        "Write a README for the project.",
    )
    for question in asks[:number]:
        yield _Case(_pasted(files), question, [*files, *heads])


def _pages() -> dict[str, str]:
    docs = Path(__file__).parents[1] / "docs"
    return {name: (docs / f"{name}.md").read_text("utf8") for name in _PAGES}


def sections(number: int, draw: random.Random) -> Iterator[_Case]:
    """Sections by their headings."""
    pasted = "\n\n".join(_pages().values())
    parts = [part.partition("\n") for part in pasted.split("\n## ")[1:]]
    short = [(title, text.split("\n# ")[0]) for title, _, text in parts if 200 < len(text) < 3_000 and "`" not in title]
    for title, text in draw.sample(short, min(number, len(short))):
        yield _Case(f"Please read this:\n\n{pasted}", f'What does the section "{title}" say?', _telling(text.splitlines()))


def contents(number: int, draw: random.Random) -> Iterator[_Case]:
    """All headings."""
    pasted = "\n\n".join(_pages().values())
    heads = [line for line in pasted.splitlines() if line.startswith("## ")]
    for question in draw.sample(
        ["Give me the table of contents.", "What sections are there?", "List all headings."], min(number, 3)
    ):
        yield _Case(f"Please read this:\n\n{pasted}", question, heads)


def pieces(number: int, draw: random.Random) -> Iterator[_Case]:
    """All headings of a document that is pasted in three messages, and one of its sections."""
    parts = [part for page in _pages().values() for part in page.split("\n## ")[1:] if 200 < len(part) < 3_000]
    for n in range(number):
        chosen = [f"## {part.strip()}" for part in draw.sample(parts, 12)]
        thirds = [f"Part {k + 1} of 3:\n\n" + "\n\n".join(chosen[4 * k : 4 * k + 4]) for k in range(3)]
        heads = [part.partition("\n")[0] for part in chosen]
        question = ("Summarize the document.", "Give me the table of contents.", "What are the risks of the document?")[n % 3]
        yield _Case(thirds[0], question, heads, thirds[1:])


def versions(number: int, draw: random.Random) -> Iterator[_Case]:
    """Three lines that differ between two versions of a document, from both."""
    for n in range(number):
        lines = "\n\n".join(draw.sample([*_pages().values()], 3)).splitlines()
        at = draw.sample([k for k, line in enumerate(lines) if len(line) > 60 and lines.count(line) == 1], 3)
        newer = [f"{line} See also page {n + 40}." if k in at else line for k, line in enumerate(lines)]
        question = ("What changed between the two versions?", "Compare the new document with the old one.")[n % 2]
        changed = [line for k in at for line in (_ending(lines[k]), _ending(newer[k]))]
        yield _Case("Our handbook:\n\n" + "\n".join(lines), question, changed, ["A new version of it:\n\n" + "\n".join(newer)])


def _ending(line: str) -> str:
    """The end of a line: of a long one the sentences that differ are enough."""
    return line.strip()[-30:]


def apart(number: int, draw: random.Random) -> Iterator[_Case]:
    """All headings of one of four documents, which is named by its order, its label, or the words above it."""
    for n in range(number):
        names = draw.sample(sorted(_pages()), 4)
        k = n % 4
        lead, question = (
            ("", f"Summarise the {('first', 'second', 'third', 'last')[k]} document."),
            ("Document {label}\n\n", f"Summarise document {'ABCD'[k]}."),
            ("Notes from {name}:\n\n", f"Summarise the document from {names[k].title()}."),
        )[n % 3]
        texts = [lead.format(label="ABCD"[i], name=name.title()) + _pages()[name] for i, name in enumerate(names)]
        heads = [line for line in texts[k].splitlines() if line.startswith("#")]
        yield _Case(texts[0], question, heads, texts[1:])


def next_parts(number: int, draw: random.Random) -> Iterator[_Case]:
    """The paragraph that comes next of a text that is gone through paragraph by paragraph."""
    paragraphs = [part for page in _pages().values() for part in page.split("\n\n") if 200 < len(part) < 900 and "|" not in part]
    for n in range(number):
        chosen = draw.sample(paragraphs, 50)
        done = 12 + 2 * n
        asked = "Translate this into German, one paragraph at a time.\n\n" + "\n\n".join(chosen)
        yield _Case(asked, "next", [chosen[done + 1]], ["next"] * done)


def languages(number: int, draw: random.Random) -> Iterator[_Case]:
    """Sections by number and by heading, and all headings, in other languages."""
    for n in range(number):
        language, form, titles, by_title, by_number, whole = _LANGUAGES[n % len(_LANGUAGES)]
        heads = [form.format(n=k, title=title) for k, title in enumerate(titles.split("|"), 1)]
        said = [prose(9_600 + 20 * n + k, language, 16).strip() for k in range(len(heads))]
        pasted = "\n\n".join(f"{head}\n\n{text}" for head, text in zip(heads, said, strict=True))
        k = draw.randrange(len(heads))
        yield _Case(pasted, by_title.format(titles.split("|")[k]), [said[k]], language=language)
        yield _Case(pasted, by_number.format(k + 1), [said[k]], language=language)
        yield _Case(pasted, whole, heads, language=language)


def captions(number: int, draw: random.Random) -> Iterator[_Case]:
    """What is said in a minute."""
    said = [prose(9_000 + n, "en", 1).strip() for n in range(400)]
    cues = [
        (n * 7, f"00:{n * 7 // 60:02}:{n * 7 % 60:02}.000 --> 00:{(n * 7 + 6) // 60:02}:{(n * 7 + 6) % 60:02}.000")
        for n in range(400)
    ]
    pasted = "WEBVTT\n\n" + "\n\n".join(f"{cue}\n{one}" for (_, cue), one in zip(cues, said, strict=True))
    for minute in draw.sample(range(1, 45), number):
        inside = [one for (at, _), one in zip(cues, said, strict=True) if at // _MINUTE == minute]
        yield _Case(f"The captions:\n\n{pasted}", f"What is said in minute {minute}?", inside)


MATERIAL: Final[dict[str, Callable[[int, random.Random], Iterator[_Case]]]] = {
    "definitions by name": named_code,
    "functions of a traceback": tracebacks,
    "all of the code": all_code,
    "sections by heading": sections,
    "table of contents": contents,
    "a minute of captions": captions,
    "documents in pieces": pieces,
    "versions that differ": versions,
    "one of four documents": apart,
    "the next paragraph": next_parts,
    "eight other languages": languages,
}


def measure(cases: Sequence[_Case], share: float | None) -> tuple[int, float, float]:
    """How many cases are whole, the share of needed lines that are there, and of tokens that are sent."""
    whole, there, sent = 0, 0.0, 0.0
    for n, case in enumerate(cases):
        messages: list[Message] = [
            {"role": "user", "content": case.pasted},
            {"role": "assistant", "content": "I have read it. What would you like to know?"},
        ]
        for piece in case.pieces:
            messages += [{"role": "user", "content": piece}, {"role": "assistant", "content": "Got it."}]
        for turn in range(_OTHER):
            messages.append({"role": "user", "content": prose(turn + 50 * n, case.language, 3)})
            messages.append({"role": "assistant", "content": prose(500 + turn + 50 * n, case.language, 10)})
        size = sum(count(str(message["content"])) for message in messages)
        body = encode([*messages, {"role": "user", "content": case.question}])
        budget = None if share is None else int(share * size)
        folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0), budget=budget), Memo())
        text = "\n".join(str(one["content"]) for one in json.loads(folded.body)["messages"]).replace(case.question, "", 1)
        found = [line in text for line in case.needed]
        whole += all(found)
        there += sum(found) / len(found)
        sent += folded.tokens_after / folded.tokens_before
    return whole, there / len(cases), sent / len(cases)


def main() -> None:
    """Print a row for each kind of material."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, help="budget as a share of each conversation's tokens; none by default")
    parser.add_argument("--number", type=int, default=20, help="cases of each kind, if there are so many")
    given = parser.parse_args()
    for name, make in MATERIAL.items():
        cases = [*make(given.number, random.Random(7))]
        whole, there, sent = measure(cases, given.share)
        print(f"{name:26} {whole:3} of {len(cases):3} whole, lines {there:.2f}, tokens {sent:.3f}", flush=True)


if __name__ == "__main__":
    main()
