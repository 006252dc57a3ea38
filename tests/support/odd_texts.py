"""Texts put together from pieces that the rules of the engine tell apart: orders, conditions, names, data, code, odd characters.

It has the pieces, and makes texts of them from a seed. Tests with golden files compare what becomes of them. Well-formed prose is
in ``words.py``, conversations are in ``block_conversations.py``.

Real texts seldom stand at the border of a rule, so a changed rule often makes no difference to them. In these, pieces that
belong to different rules stand next to each other, are cut off, repeated, or have a character too many.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

from tests.support import words

#: A sentence or line each.
PIECES: Final = """\
Never push to main without a review.
From now on, always answer in French.
Please use docker, not podman.
Don't call me Bob.
I'm allergic to peanuts.
My budget is 300 euros.
I live in Lisbon with my two daughters.
If the tide is above 3.2 m, the ferry stays in port.
Unless Anna signs, nothing is paid.
It did not fail again.
Only on Mondays.
Why?
Yes.
No, the second one.
That's why.
However, it was reported later that the pump was fine.
According to Mr. Okafor, the lease ends on 31 March 2027.
Dr. Weiß said: "We will never sell."
The code is R-0417 and the key is AKIA9X.
See https://example.org/a?b=c#d and `make test`.
rm -rf /tmp/x
$ git push --force origin main
- first item
- second item: 42
* [ ] to do
1. One
2. Two
# Heading
## Costs
Costs:
| a | b |
|---|---|
| 1 | 2 |
```python
def f(x):
    return x + 1
```
```
    indented code()
    more(code)
{"a": 1, "b": [1, 2, {"c": "x"}]}
[{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
key: value
port: 8080
name = "x"
SELECT a, b FROM t WHERE a > 3;
Traceback (most recent call last):
  File "a.py", line 3, in <module>
    raise ValueError("no")
ValueError: no
ERROR 2026-03-01 11:00:00 worker-3 failed: timeout after 30 s
12:04:11 INFO started
exit code 1
3 passed, 1 failed in 0.3s
+added
-removed
@@ -1,2 +1,2 @@
src/a/b.py:12: error: Missing return
commit 1a2b3c4d
Author: Ann <a@b.cd>
<p>Hello <b>you</b></p>
<private>secret</private>
It costs $1,200.50 or 1.200,50 € (about 3 %).
On 3 May 2026 at 14:30, 12 of 40 tapes; 5 km; 3x.
预算不超过三千元。我叫小林。
ただし、火曜日は除く。
하지만 월요일은 아니다.
Если прилив выше трёх метров, паром стоит.
Aber nur, wenn Anna zustimmt.
Sauf le lundi.
A menos que llueva.
OpenAI and NASA met Marta Kowalski in New York City.
“We agreed”, she said, “on Friday.”
He said it; she denied it — twice (or so).
The 2nd, 3rd and 10th: v1.2.3, A-12/B, 192.168.0.1, 550e8400-e29b-41d4-a716-446655440000.
x@example.com wrote on 2026-05-01T10:00:00Z
Remember: the limit is 5 per user.
You must not restart the server during the day.
What is the tide today?
Could you do that by tomorrow?
TODO: check the pump
OK
thanks!
We decided to use Postgres instead of MySQL.
This was never true.
These three points matter.
The former is cheap; the latter is not.
He wrote: “We pay on Friday. All of it. Nobody was told before.” Then he left the harbour.
(The first pump ran for nine years. The second one was sold to Anna.) It still stands there.
She said "the boats come at nine (or at ten. Perhaps later), and nobody waits. Never" to the crew.
«Nous partons lundi matin. Le bateau attend.» 「明日の朝に行く。船は待っている。」
Marta Kowalski of Lisbon met Duke Ellington of New Orleans at the Bank of England.
Anna: The second pump is the one that failed. I saw it.
Ben: It is fine. Nobody else heard of that.
the long list goes on and on with valves and pipes and pumps and ropes and lamps and nets and oars and masts and sails and hooks
aGVsbG8gd29ybGQgdGhpcyBpcyBub3QgYSBzZWNyZXQgYXQgYWxsIGJ1dCBsb29rcyBsaWtlIG9uZSBvZiB0aGVt""".splitlines()

#: What is put between words, at the end of a line, or instead of a few characters.
ODD: Final = (
    *("", "   ", "\n\n", "\r\n", "\t", "—", "“", "”", "'", '"', "`", "```", "|", "{", "[", "<", ">", "(", ")", "…", "。", "？"),
    *("!", "?!", ":", ";", "é", "İ", "ß", "😀", "\u200b", "\u2028", "\x1b[31mred\x1b[0m", "50%\rdone", "0", "1", "-1", "1e9"),
    *("and", "but", "or", "if", "not", "he", "it", "this", "so", "because", "Mr.", "e.g.", "z.B.", "St.", "No.", "p. 3"),
)


def _with_odd(random: Random, text: str) -> str:
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice(ODD) + text[at + random.choice((0, 0, 1, 5)) :]


def text(seed: int) -> str:
    """A text of up to nine pieces; the same seed gives the same text."""
    random = Random(seed)

    def piece() -> str:
        if random.random() < 0.25:
            return words.sentence(random, random.choice(list(words.LANGUAGES)))
        return random.choice(PIECES)

    match seed % 4:
        case 0:
            return " ".join(piece() for _ in range(random.randrange(2, 9)))
        case 1:
            return "\n".join(piece() for _ in range(random.randrange(2, 10)))
        case 2:  # pieces that belong together, between others
            at = random.randrange(len(PIECES))
            block = "\n".join(PIECES[at : at + random.randrange(2, 9)])
            return random.choice(["\n", "\n\n", " "]).join([piece(), block, piece()][random.randrange(2) :])
        case _:
            said = " ".join(piece() for _ in range(random.randrange(1, 5)))
            for _ in range(random.randrange(1, 4)):
                said = _with_odd(random, said)
            return said


#: What stands between words that touch: nothing, a mark, a line break.
_JOINTS: Final = (*("", "", " ", " ", " "), *",/-:.;(\"'`\n", ", ", ". ", "\n\n", "\n- ")


_NAMES: Final = (
    *("`make all`", "R-0417", "Ada Lee-Smith of NASA", "Ben Carter of Harbour Bank", "Harbour Bank of Lisbon", "Lisbon of 1959"),
    *("3.5 kg", "€3.50", "10:30–11:00", "O'Neill's", "AC/DC", "v2", "Captain Marta", "the Duke", "In 1959 Ada Lee", "Bay 7"),
    *("Ada", "Ada,", "Ada Lee and Ben", "Ben & Co", "Dr", "Pier 3 Ltd", "never", "always"),
)


def glued(seed: int) -> str:
    """Beginnings, middles and ends of pieces right behind one another: names, figures, marks and code that touch."""
    random, said = Random(f"glued {seed}"), ""
    for _ in range(random.randrange(3, 14)):
        parts = random.choice(_NAMES if random.random() < 0.3 else PIECES).split(" ")
        at = random.randrange(len(parts)) if random.random() < 0.5 else 0
        said += " ".join(parts[at : at + random.randrange(1, 7)]) + random.choice(_JOINTS)
        if random.random() < 0.2:
            said += random.choice(ODD)
    return said


def _changed_line(random: Random, lines: list[str]) -> None:
    at = random.randrange(len(lines))
    match random.randrange(6):
        case 0:
            lines.insert(at, random.choice(lines))
        case 1:
            lines[at:at] = [lines[at]] * random.randrange(1, 5)
        case 2:
            lines.insert(at, random.choice(PIECES))
        case 3:
            lines[at] = _with_odd(random, lines[at])
        case 4:
            lines[at] *= random.randrange(1, 6)
        case _:
            del lines[at : at + random.randrange(len(lines))]


def output(seed: int, known: list[str]) -> str:
    """The output of a tool, or two behind each other, with lines repeated, lost, put in or broken."""
    random = Random(seed)
    lines = random.choice(known).split("\n")[: random.randrange(5, 70)]
    if seed % 4 == 0:
        lines += random.choice(known).split("\n")[: random.randrange(3, 25)]
    for _ in range(random.randrange(0, 10)):
        _changed_line(random, lines)
        lines = lines or ["nothing"]
    return "\n".join(lines)[:4000]


_VALUES: Final = (
    *(None, True, False, 0, 1, -3, 2.5, 1e21, 10**17, "", "a", "ok", "error: timeout", "2026-03-01T10:00:00Z", "a|b", "@1"),
    *('"q"', " lead", "line\nbreak", "12", "null", "İß", "tape R-0417", "x" * 90, "y" * 200),
)
_KEYS: Final = ("id", "name", "status", "ok", "price", "meta", "error", "note", "a b", "", "list", "message", "ü", "0")


def _value(random: Random, depth: int) -> Any:
    kind = random.random()
    if depth <= 0 or kind < 0.4:
        return random.choice((*_VALUES, random.randrange(10**6), f"user-{random.randrange(99)}"))
    if kind < 0.6:
        return [_value(random, depth - 1) for _ in range(random.randrange(6))]
    if kind < 0.75:
        return {random.choice(_KEYS): _value(random, depth - 1) for _ in range(random.randrange(5))}
    return _records(random)


def _records(random: Random) -> list[dict[str, Any]]:
    """Records with mostly the same keys, as in a table; some lack one or have one more."""
    kinds = {key: random.randrange(6) for key in random.sample(_KEYS, random.randrange(1, 6))}
    rows = []
    for i in range(random.randrange(2, 18)):
        cells = (i, random.randrange(4), random.choice(("ok", "ok", "ok", "failed")), _value(random, 0), f"row {i} of many")
        row: dict[str, Any] = {key: {"net": i, "gross": 9 - i} if kind == 5 else cells[kind] for key, kind in kinds.items()}
        if random.random() < 0.15:
            row.pop(random.choice(list(row)))
        if random.random() < 0.08:
            row["extra"] = _value(random, 0)
        rows.append(row)
    return rows


def json_text(seed: int) -> str:
    """JSON of any shape, lines of JSON, or JSON that is cut off or holds what JSON can't keep."""
    random = Random(seed)
    value = _value(random, 3) if seed % 3 == 0 else _records(random)
    if seed % 3 == 1:
        value = {"data": value, "total": random.randrange(99), "next": None}
    text = json.dumps(value, indent=random.choice((None, None, 1, 2)), ensure_ascii=random.random() < 0.5)
    match seed % 12:
        case 5:
            return "\n".join(json.dumps(one) for one in (value if isinstance(value, list) else [value] * 3))
        case 7:
            return text[: len(text) // 2]
        case 9:
            return text.replace("null", "1e400", 1)
    return text


#: What texts of every length are made of.
_UNITS: Final = (
    *("word ", "Wort, ", "It rains. ", "x", "aGVsbG8", "7", "中", "? "),
    *("a,b,c\n", "key: value\n", "    x = 1\n", "| a | b |\n"),
)
_LENGTHS: Final = (*range(1, 13), 16, 19, 20, 21, 24, 29, 30, 31, 32, 39, 40, 41, 60, 80, 120, 150, 200, 300, 400)
_LINES: Final = (
    "The boats came in late that night",
    "2026-03-01 11:00:00 INFO worker-3 took 30 ms",
    "    total = count(rows) + 1",
    '{"id": 7, "name": "ines"}',
    "R-0417,12,3.50",
    "src/a/b.py:12: error: Missing return",
    "- Anna: 0x7f9A, a_b, c->d {x};",
)


def of_every_length() -> list[str]:
    """A few words or characters again and again: wherever a rule counts, one of these is just long enough."""
    found = [unit * number for unit in _UNITS for number in _LENGTHS if len(unit) * number <= 1300]
    return [*found, *(f"{'word ' * number}then always answer in French" for number in range(18, 40))]


def of_every_share() -> list[str]:
    """Lines of two kinds: wherever a rule asks for most or a few of them, one of these has just so many."""
    pairs = [(one, other) for i, one in enumerate(_LINES) for other in _LINES[i + 1 :]]
    found = []
    for number, (one, other) in enumerate(pairs):
        for size in (3, 5, 10)[number % 3 :][:1] + (4, 8, 20)[number % 3 :][:1]:
            for share in range(size + 1):
                rows = [f"{one} {i}" for i in range(share)] + [f"{other} {i}" for i in range(size - share)]
                found.append("\n".join(rows if number % 2 else rows[::2] + rows[1::2]))
    return found


_FOLDER: Final = ("tape.py", "reel.py", "budget", "other.md", "a/", "x.txt", "y.txt", "z.txt", "q.txt", "Refund.toml")
#: Whole texts that few rules are for.
_RARE: Final = (
    "In front.\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabcd\n-----END RSA PRIVATE KEY-----\nBehind it.",
    "  -----BEGIN CERTIFICATE-----\nMIIEow\nit never ends",
    "\n".join(f"src/desk/{name}" for name in _FOLDER),
    "\n".join(f"-rw-r--r-- 1 ann staff {17 * i} Mar  3 10:{i:02} {name}" for i, name in enumerate(_FOLDER, 10)),
    "\n".join(f"{3 * i}K\tsrc/{name}" for i, name in enumerate(_FOLDER)),
    "desk\n" + "\n".join(f"├── {name}" for name in _FOLDER) + "\n│   └── [ 1.2K]  deep.py\n\n3 directories, 9 files",
    "\n".join(f"src/a.py-{i}-near {i}" if i % 3 else f"src/a.py:{i}:def tape_{i}(): # hit" for i in range(1, 9))
    + "\n--\nb.py:1:x",
    "src/a.py\n12:def tape():\n13-    return 1\n--\n40:    tape()\n\nsrc/b.py\n3:tape = 1",
    'id,name,note\n1,"Ann, B.",ok\n2,"Ben ""the crane""",failed\n3,Cy,\n4,Di,ok\n',
    'a|b\x00|c\n1|"2|3\n4|5|6',
    "============ FAILURES ============\n____ test_tape ____\n>  assert 1 == 2\nE  AssertionError: tape\n"
    "tests/a.py:3: AssertionError\n"
    "FAILED tests/a.py::test_tape - assert\nPASSED tests/a.py::test_reel\n=== 1 failed, 3 passed in 0.2s ===",
    "--- FAIL: TestTape (0.00s)\n    a_test.go:12: got 3, want 4\n=== RUN TestReel\n--- PASS: TestReel\n"
    "ok  desk 0.1s\nFAIL\tdesk/b",
    "thread 'main' panicked at src/main.rs:3:5:\nthe tape is gone\nnote: run with RUST_BACKTRACE=1\n"
    "stack backtrace:\n   0: std::x",
    "  ✓ opens the bay (3 ms)\n  ✗ closes the bay\n    Expected: 3\n    Received: 4\n      at bay.js:3:1\n"
    "Tests: 1 failed, 2 passed",
    "TAP version 13\nok 1 - a\nnot ok 2 - tape\n# tests 2\n# fail 1",
    "error[E0308]: mismatched types\n --> src/main.rs:4:9\n  |\n4 |     tape\n  |     ^^^^ expected `()`, found `&str`",
    "col a   col b\n-----   -----\n12      x\n13      y\n14      z\n\ntape 1.5 kg at 10:30\n"
    "tape 2.5 kg at 11:30\ntape 3.5 kg at 12:30",
    "50%\b\b\b60%\b\b\b\b\b\bdone\nx\b\n\bloading\rready\r\nready\rset",
    "# Desk\nname: desk\nitems:\n  - id: 1\n    note: tape\n  - id: 2\n    note: >\n      two lines\n      of it\nempty:\n",
    "<items>\n <item id='1'>\n  <state>failed</state>\n  <note>tape</note>\n </item>\n"
    " <item id='2'><state>ok</state></item>\n</items>",
    "Please just note that Really Simple Syndication is, in order to be clear, basically a feed.\n"
    "Mara Lind: Sure, thanks! I think\n"
    "Thanks!\n\nOf course. The word just is short. What did she say? Thanks.\n  - Certainly, the Database is up.",
    "Hello!\nThanks a lot.\n",
    "```\nopen\n~~~\nstill\n```\nshut\n~~~~\nx\n~~~\ny\n~~~~~\nend",
    "commit 1a2b3c4d5e\nAuthor: Ann <a@b.cd>\nDate:   Mon Mar 3\n\n    Fix tape\n\n    The reel.\n\n"
    "commit 2b3c4d5e6f\nAuthor: Ben <b@b.cd>\n\n    Add",
    "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n@@ -1,4 +1,4 @@ def tape():\n"
    " x = 1\n-y = 2\n+y = 3\n z",
    '{"rows": "[{\\"id\\": 1, \\"deep\\": {\\"tape\\": [1, 2, 3]}}, {\\"id\\": 2, \\"deep\\": null}]", "n": 1e400, "ok": true}',
    '{"a": 1}\n\n{"a": 2, "tape": "x"}\n{"a": 3}\nno json here\n{"a": 4}',
    "الدكتور أحمد حسن في القاهرة مع شركة النيل. قال محمد إنه لن يدفع.",
    "华为技术有限公司在深圳。王小明说他不去。北京大学和李娜老师。",
    "東京大学の田中さんはアンドロイドを使う。株式会社タイドは火曜日に休む。",
    "ООО «Ромашка» и ПАО «Газпром» подписали договор 3 мая. Завод «Север» в Москве не платит.",
    "La société «Marée Haute» et l'hôtel « Du Port » : «Nous payons», dit-elle.",
    "서울대학교 김민수 씨는 오지 않았다. 삼성전자 주식회사.",
)


def rare(seed: int) -> str:
    """A text that few rules are for: alone, twice, cut in the middle of a line, or behind and in front of what is said."""
    text, random = _RARE[seed % len(_RARE)], Random(f"rare {seed}")
    match seed // len(_RARE) % 4:
        case 0:
            return text
        case 1:
            return f"{text}\n{text}"
        case 2:
            return text[: random.randrange(len(text) // 2, len(text))]
        case _:
            return f"{random.choice(PIECES)}\n\n{text}\n\n{random.choice(PIECES)}"


#: How many there are.
RARE: Final = 4 * len(_RARE)


_LIMITS: Final = (48, 64, 240, 300, 400, 500, 600, 1000, 1200, 1600, 2000)


def of_long_lengths() -> list[str]:
    """One line, just under, at and over a length at which something is cut, read in part or no longer read: without blanks, of
    words with and without ends, in a script without blanks; and lines that are much longer."""
    found = []
    for number, limit in enumerate(_LIMITS):
        for size in (limit - 1, limit, limit + 1):
            ended = "The boat of Anna came at 9:30 and it left. However, nobody paid 40 euros! "
            units = ("x1", f"word number {number} ", ended, "泵是新的。但阀门是旧的。软管很好")
            found += [(unit * size)[: size - 1] + "." for unit in (units[number % 4], units[(number + size) % 4])]
            found.append(f"{('and so on ' * size)[:size]}it never failed.\nIt was Ben.")
    for size in (2400, 4100):
        found += ["a word without end " * (size // 19), "x" * size, "It came. " * (size // 9)]
        found.append(f"{'so it goes ' * 170}(at 3.5). " * 2)
        found.append(f"{'Nobody came (that we know of. Or so) ' * (size // 37)}. {'y' * 900} {'z' * 900}")
    return found
