"""Parts of a line that are not plain words: code, URLs, dates, commands, and tokens with digits or odd marks.

There is one finder or pattern per kind. Their order and priority are in ``protect``, whole lines in ``blocks``.

Every pattern is linear: possessive quantifiers, no nested repetition, bounded look-back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.spans import Span, spans_of

_TICKS: Final = lazy.pattern(r"`++|\n")


def inline_code(text: str) -> Iterator[Range]:
    """Pairs of backtick runs of equal length on one line (CommonMark, except spans over several lines)."""
    if "`" not in text:
        return
    line: list[Range] = []
    for m in _TICKS.finditer(text + "\n"):
        if m.group() != "\n":
            line.append(m.span())
        elif line:
            yield from _pair_runs(line)
            line = []


def _pair_runs(runs: list[Range]) -> Iterator[Range]:
    following: list[int] = [0] * len(runs)
    last: dict[int, int] = {}
    for i in range(len(runs) - 1, -1, -1):
        length = runs[i][1] - runs[i][0]
        following[i] = last.get(length, 0)
        last[length] = i
    i = 0
    while i < len(runs):
        if following[i]:
            yield runs[i][0], runs[following[i]][1]
            i = following[i]
        i += 1


_URL_STOP: Final = lazy.pattern(r"[\s<>\"'`|\\^{}「」『』【】（）《》，。；：！？、“”]")
_SCHEME_TAIL: Final = lazy.pattern(r"[A-Za-z][A-Za-z0-9+.-]{0,19}\Z")


def urls(text: str) -> Iterator[Range]:
    """``scheme://`` to the next stop character, closing punctuation and unmatched brackets left outside."""
    at = text.find("://")
    while at >= 0:
        scheme = _SCHEME_TAIL.search(text, max(0, at - 20), at)
        stop = _URL_STOP.search(text, at + 3)
        end = stop.start() if stop else len(text)
        if scheme:
            yield scheme.start(), at + len(_trim(text[at:end]))
        at = text.find("://", max(end, at + 3))


_ENGLISH_MONTHS: Final = (
    "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    "|Nov(?:ember)?|Dec(?:ember)?"
)
_MONTHS: Final = (
    "Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember|janvier|février|mars|avril|mai|juin|juillet|août|septembre"
    "|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|janeiro"
    "|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre"
    "|ottobre|dicembre"
)
DATE_WORDS: Final = lazy.pattern(
    rf"(?=[\dJFMASOND])(?:(?:{_ENGLISH_MONTHS})\b\.? (?:\d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}}\b)?|\d{{4}}\b)"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)? (?=[^\W\d_])(?:of |de )?(?:{_ENGLISH_MONTHS}|{_MONTHS})\b(?:,? (?:de |of )?\d{{4}}\b)?"
    r"|\d{1,4}年(?:\d{1,2}月(?:\d{1,2}[日号])?)?|\d{1,2}月\d{1,2}[日号])"
)
PULL_WORDS: Final = lazy.pattern(r"\b(?:PR|MR|[Pp]ull [Rr]equest|[Mm]erge [Rr]equest|[Ii]ssue|[Tt]icket|[Bb]ug) ?[#!]?\d{1,9}\b")
SECRET_WORDS: Final = lazy.pattern(
    r"(?i:(?<![^\W_])(?:pass(?:word|wd|phrase)|secret|token|(?:api|access|account|private|signing)[ _-]?key"
    r"|bearer|authorization))\b\"?"
    r"[ \t]*+(?:[:=][ \t]*|is[ \t]+|(?<=[ \t])(?=[^\s\d]{0,80}\d))(?:Bearer )?[\"']?[^\s\"',;]{5,200}[^\s\"',;.!?)]"
)
#: A URL with a password in it: "postgres://app:3f9c@db.example.org/prod".
URL_WITH_PASSWORD: Final = lazy.pattern(
    r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@]{0,100}:[^\s/@]{1,200}@[^\s\"'`<>]++(?<![.,;:!?)])"
)
# Programs and those of their subcommands that make "git commit" a command and "go home" none.
_SUBCOMMANDS: Final = {
    "git": "add|am|apply|bisect|blame|branch|checkout|cherry-pick|clone|commit|diff|fetch|init|log|merge|mv|pull|push|rebase"
    "|remote|reset|restore|revert|rm|show|stash|status|submodule|switch|tag|worktree",
    "npm|pnpm|yarn|bun": r"(?:add|exec|i|install|remove|run) \S+|audit|build|ci|init|install|publish|start|test|update",
    "npx": r"\S+",
    "pip3?|uv|poetry|brew|apt|apt-get|dnf|yum|gem|conda": r"(?:add|install|lock|remove|run|sync|uninstall|update|upgrade) \S+",
    "docker|docker-compose|podman": "build|compose|exec|images|inspect|logs|ps|pull|push|restart|rm|run|start|stop|tag|up|down",
    "kubectl": r"(?:apply|config|create|delete|describe|edit|exec|get|logs|patch|port-forward|rollout|scale|top) ?\S*",
    "cargo|go|dotnet|mvn|gradle": "build|check|clean|clippy|fmt|get|install|mod|package|publish|run|test|vet",
}
# Programs that are commands only before an argument that no prose has: a flag, a path, an assignment, a quoted string.
_PROGRAMS: Final = (
    "helm|terraform|systemctl|gh|aws|gcloud|az|openspec|make|pytest|curl|wget|ssh|scp|rsync|tar|grep|rg|sed|awk|find|ls|cd|cat|cp"
    "|mv|rm|mkdir|chmod|chown|python3?|node|bash|sh|source|psql|redis-cli|deno|ffmpeg|jq|export|cmake|ruff|mypy|tsc"
)
_ARGUMENT: Final = (
    r"(?: (?:--?[A-Za-z][\w-]*+(?:=[^\s`。！？；，]++)?|"
    r"[^\s`/\\=@。！？；，]*+[/\\=@][^\s`。！？；，]*+|[\w-]++\.[A-Za-z0-9]{1,5}\b"
    r"|\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[|]|&&|\d++))"
)
_CALLS: Final = "|".join(f"(?:{program}) (?:{words})" for program, words in _SUBCOMMANDS.items())
SHELL: Final = lazy.pattern(
    rf"(?<![\w/.`-])(?:sudo )?(?:{_CALLS}|(?:{_PROGRAMS})(?: [a-z][a-z-]{{0,20}}){{0,2}}?{_ARGUMENT})\b"
    rf"{_ARGUMENT}*+(?: [a-z][a-z-]*+{_ARGUMENT}++)*+"
)
_NAMED: Final = "|".join((*_SUBCOMMANDS, _PROGRAMS)).split("|")
_COMMANDS: Final = frozenset(form for name in _NAMED for form in (name.replace("?", ""), name.replace("3?", "")))
_IN_NAMES: Final = b"-_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_OTHER_SIGNS: Final = bytes(byte if byte in _IN_NAMES else 32 for byte in range(256))


def shell_commands(text: str) -> Iterator[Range]:
    """What `SHELL` finds. In ASCII, it is tried only at names of programs, which are found faster."""
    if not text.isascii():
        yield from (m.span() for m in SHELL.finditer(text))
        return
    named = _COMMANDS.intersection(text.encode().translate(_OTHER_SIGNS).decode().split())
    if not named:
        return
    done = 0
    for at in sorted(set(places(text, [f"{name} " for name in (*named, "sudo")]))):
        found = SHELL.match(text, at) if at >= done else None
        if found:
            done = found.end()
            yield found.span()


def places(text: str, words: Iterable[str]) -> Iterator[int]:
    """The places of each word, word by word."""
    for word in words:
        at = text.find(word)
        while at >= 0:
            yield at
            at = text.find(word, at + 1)


PROMPT_LINE: Final = lazy.pattern(r"(?<![^\n])[ \t]*+(?:\$|%|PS [A-Z]:\\[^\n>]{0,200}>|>>>) [^\n]++")
INLINE_SQL: Final = lazy.pattern(
    r"\b(?:SELECT\b(?:[^\n;SF]|S(?!ELECT\b)|F(?!ROM\b))*+FROM\b|INSERT INTO\b|DELETE FROM\b|UPDATE \w+ SET\b"
    r"|(?:CREATE|ALTER|DROP) (?:TABLE|INDEX|VIEW)\b)[^\n;`]*+;?"
)


# --- tokens ---------------------------------------------------------------------------------------------------------

# Scripts that put no blanks between words, and typographic marks, end a token: what follows "v1.2.3" in Chinese is prose.
_WALL: Final = (
    r"\u0e00-\u109f\u1100-\u11ff\u1780-\u17ff\u2010-\u203a\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    r"\u0589\u060c\u061b\u061f\u0964\u1361-\u1368"
)


def _token_pattern(gap: str) -> re.Pattern[str]:
    """A pattern that skips plain words and stops at each token that may be more than a word."""
    solid = f"[^{gap}]"
    lead, tail = r"[(\[{<\"'*“‘«»„‚¿¡]", r"[.,;:!?)\]}>\"'*]"
    word = r"(?:[^\W\d_a-z]*+[^\W\d_A-Z]*+)(?:['’][^\W\d_A-Z]++)?+"
    plain = rf"(?={solid}){lead}*+{word}{tail}*+(?!{solid})"
    return lazy.pattern(rf"(?:[{gap}]++|{plain})*+{lead}*+({solid}++|\Z)")


_ASCII_TOKEN: Final = _token_pattern(r"\s")
_TOKEN: Final = _token_pattern(r"\s" + _WALL)
_CLOSERS: Final = ".,;:!?\"'*”’»…"
_PAIRS: Final = {")": "(", "]": "[", "}": "{", ">": "<"}


def _trim(token: str) -> str:
    """The token without closing punctuation and unmatched closing brackets."""
    token = token.rstrip(_CLOSERS)
    while token and token[-1] in _PAIRS and _PAIRS[token[-1]] not in token:
        token = token[:-1].rstrip(_CLOSERS)
    return token


_TOKEN_KINDS: Final = lazy.pattern(
    "|".join(
        f"(?P<{kind}>{pattern})"
        for kind, pattern in (
            (
                "number",
                r"[-+±~<>≤≥=]{0,2}[$€£¥₹]?\d++(?:,\d++)*+(?:\.\d++)?(?:%|‰|°[CF]?|st|nd|rd|th|[kKmMbBxX]|[a-zA-Zµ]{1,4})?",
            ),
            (
                "date",
                r"\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?(?:[T ]\d{2}:\d{2}\S*+)?"
                r"|\d{1,2}[-/]\d{1,2}[-/]\d{2,4}|\d{1,2}\.\d{1,2}\.\d{4}",
            ),
            ("time", r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d++)?(?:[aApP][mM]|Z|[+-]\d{2}:?\d{2})?"),
            ("version", r"[vV^~=<>]{0,2}\d++(?:\.\d++){1,4}(?:[-+.]?[0-9A-Za-z][0-9A-Za-z.+-]*+)?|[vV]\d++"),
            ("email", r"[^\s@]++@[^\s@.]++(?:\.[^\s@.]++)++"),
            (
                "secret",
                r"(?:sk|pk|rk|whsec|glpat|npm|hf)[-_][A-Za-z0-9_-]{12,}+|gh[pousr]_[A-Za-z0-9]{16,}+|xox[a-z]-\S{8,}+|AKIA[0-9A-Z]{12,}+"
                r"|eyJ[\w-]{8,}+\.\S++|AIza[\w-]{20,}+|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|(?=\D*+\d)[0-9a-fA-F]{16,}+"
                r"|(?![/~])(?=[^A-Z]*+[A-Z])(?=[^a-z]*+[a-z])(?=\D*+\d)[A-Za-z0-9+/_=-]{24,}+",
            ),
            ("pull", r"(?:[\w.-]++/[\w.-]++)?[#!]\d++"),
            (
                "branch",
                r"(?:origin|upstream|feature|feat|fix|bugfix|hotfix|release|chore|refactor|docs|test|agent|dependabot)/[\w./#-]++",
            ),
            (
                "path",
                r"~?(?:\.{0,2}/)[^\s]*+|[A-Za-z]:[\\/][^\s]*+|\\\\[^\s]++|%[A-Z]++%[\\/][^\s]*+|\$[A-Z_]++/[^\s]*+|[^\s/\\]*+[/\\][^\s]*+",
            ),
            ("flag", r"--?[A-Za-z][\w-]*+(?:=\S++)?"),
            ("row", r"§[A-Z]?\.?\d*+(?:\.\d++)*+|[A-Z]{1,10}-?\d++(?:[-.][A-Z0-9]++)*+"),
            ("identifier", r"[@#$]?[\w-]*+(?:[.:]{1,2}[\w-]++)*+(?:\(\S*+|\[\S*+)?"),
        )
    )
    + r"|(?P<token>[^\s]*[\d_=@\\/{}<>#$%&+^|~][^\s]*+)"
)
_SPECIAL: Final = lazy.pattern(r"[a-z][A-Z]|[\d_]|\w(?:[-.:(\[]|::)\w|\w\(\)|[@#$]\w")


def _token_kind(token: str) -> str:
    """The kind of a trimmed token, "" for a word (or a mark) that needs no protection."""
    m = _TOKEN_KINDS.fullmatch(token)
    kind = (m and m.lastgroup) or ""
    if kind == "identifier":
        return kind if _SPECIAL.search(token) else ""
    return kind if any(map(str.isalnum, token)) else ""


def tokens(text: str) -> list[Span]:
    """Tokens that need protection, in order."""
    known: dict[str, tuple[int, str]] = {}
    starts: list[int] = []
    ends: list[int] = []
    kinds: list[str] = []
    for m in (_ASCII_TOKEN if text.isascii() else _TOKEN).finditer(text):
        token = m.group(1)
        found = known.get(token)
        if found is None:
            core = _trim(token)
            found = known[token] = (len(core), _token_kind(core))
        if found[1]:
            start = m.start(1)
            starts.append(start)
            ends.append(start + found[0])
            kinds.append(found[1])
    return spans_of(zip(starts, ends, kinds, strict=True))
