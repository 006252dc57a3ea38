"""How sure it is that a message is a directive; in the proxy, in front of the engine.

Lives here: pure questions to a text, and the words that they go by. Does not belong here: changing what the engine takes: it
stays exact, and whoever speaks to it directly (command line, admin routes) is not guarded.

Three answers. *Ordinary*: the engine never sees it. *Doubtful*: it may be a directive and it may be a request to the model, so it
goes upstream whatever else it does; an update is made, a question is not asked. *Certain*: it may be answered here. A request
that is answered here is lost, while a directive that goes upstream is in force all the same, so certain is a closed list: what
stands in quotes, what contradicts the state, the premise, and the tools and conventions of ``lexicon/settled.txt``.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import Final, Literal

from turnfold.compression.state.grammar import Directive, Malformed, parse
from turnfold.compression.state.machine import State
from turnfold.compression.state.wording import item_key, tame
from turnfold.compression.text.lexicon import lexicon

Certainty = Literal["ordinary", "doubtful", "certain"]

#: An item is a name: the longest that people lay down have about six words.
MAX_ITEM_WORDS: Final = 6
MAX_ITEM_CHARS: Final = 64
#: A premise may be a sentence, not a document.
MAX_PREMISE_CHARS: Final = 500

# Function words that do not stand inside a name but do stand in a request: who, where, when, why, what for, and finite verbs.
_SENTENCE_WORDS: Final = frozenset(
    """
    i me my mine myself we us our ours ourselves you your yours yourself he him his himself she her hers they them their theirs
    it its itself this that these those there here
    who whom whose which what whatever whichever when whenever where wherever why how
    to for from with within in into onto on at by as about after before during until till while since because so if unless
    although though whether per via upon between among against like than through across along around behind
    up down out off over again
    is are was were be been being am has have had having do does did done can could will would shall should may might must
    isn't aren't wasn't doesn't didn't can't cannot won't wouldn't shouldn't let's i'm i've it's that's there's
    please pls plz kindly thanks then also too instead now today tonight tomorrow later next once yet just rather maybe perhaps
    actually everything anything something nothing everyone anyone all both either neither none every each any some
    above below following attached provided given mentioned enclosed uploaded previous earlier aforementioned same
    another other others but or versus vs ok okay yes yep no nope true false null default
    one ones thing things stuff whichever ur u
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
# Behind "use the ...": things at hand in this conversation, not lasting choices.
_AT_HAND: Final = frozenset(
    """
    answer approach article attachment button chapter character chart class code column command context csv data dataset docs
    document documentation draft email equation example excerpt field figure file files folder
    formula function graph image info information input instructions key law library link list log logs message method model
    notes number numbers option options output outline page paper paragraph passage pdf photo picture plan poem point points prompt
    question quote readme recipe report response result results rule
    schema screenshot script section sentence setting snippet solution source spreadsheet statement statute step story style table template
    text theorem title tool transcript url value variable variant version website word words
    """.split()  # noqa: SIM905
)
_ORDINALS: Final = frozenset(
    """
    first second third fourth fifth sixth seventh eighth ninth tenth 1st 2nd 3rd 4th 5th last latter former middle top bottom left
    right upper lower
    """.split()  # noqa: SIM905
)
# With a number, a letter or a name behind them they point at something that was said: "option 2", "plan b", "word serendipity".
_POINTERS: Final = frozenset(
    """
    alternative answer approach article candidate case chapter choice clause design draft equation example exercise figure idea
    item key letter level line method mode module name nr nos number opt option page paragraph part password pattern phase
    phrase plan point policy problem proposal question reference row rule scenario scheme section sentence slide solution
    stage statement step strategy suggestion table take task technique term test theorem theory title topic track try
    variant variation version volume way word words
    """.split()  # noqa: SIM905
)
_COUNTS: Final = frozenset(
    """
    one two three four five six seven eight nine ten eleven twelve i ii iii iv v vi vii viii ix x alpha beta gamma delta
    """.split()  # noqa: SIM905
)
# Moves of a game or a quiz.
_MOVES: Final = frozenset("hint hints lifeline lifelines joker clue clues skip pass".split())  # noqa: SIM905
# "use of force", "use cases for ...": the noun.
_ARTICLES: Final = ("a", "an", "the")
_NOUN_FOLLOWERS: Final = frozenset({"of", "case", "cases"})
# Tasks: behind "and", or anywhere inside, they make the text a request.
_TASKS: Final = frozenset(
    """
    add analyse analyze answer apply ask build calculate change check clean compare compute continue convert convince correct
    create debug define delete deploy describe design do draft draw edit estimate evaluate explain extract figure fill find finish
    fix generate get give go help identify illustrate implement improve include insert keep list look make move open
    optimise optimize organise organize outline paraphrase parse pick plan plot predict prepare print produce prohibit prove
    provide put read recommend refactor remove rename repeat rephrase replace reply respond retell return review rewrite run save
    search see select send set
    show simplify solve sort split start stop suggest summarise summarize take tell test think translate try turn update
    use verify visit walk write
    """.split()  # noqa: SIM905
)
# Of these only those that are no name of a thing as well: they may stand anywhere in a request.
_PURE_TASKS: Final = frozenset(
    """
    analyse analyze calculate compute convince create describe evaluate explain extract generate
    identify implement optimise optimize
    paraphrase predict prove recommend rephrase retell rewrite simplify solve summarise summarize tell translate verify write
    """.split()  # noqa: SIM905
)
# Kinds of text that one has written, and ways to ask about a word: "prohibit alcohol essay", "prohibit synonym".
_WORKS: Final = frozenset(
    """
    act acts advantages amendment analogy antonym antonyms argument arguments article benefits bill blog brochure campaign cons
    consequences contract debate def define definition dialogue differences disadvantages essay essays etymology example
    examples explanation facts flyer haiku history homework introduction joke law laws leaflet legislation letter limerick
    meaning memo notice opinion paragraph petition pledge poem poster powerpoint presentation pronunciation pros quiz quote quotes
    rap reasons referendum report resolution ruling sentence sentences sign slogan song sonnet speech statistics story summary
    synonym synonyms text thesis timeline translation treaty tutorial wiki wording worksheet
    """.split()  # noqa: SIM905
)
# Behind "set premise" and "change premise": the sentence speaks of some story's or argument's premise.
_ABOUT_A_PREMISE: Final = frozenset(
    """
    of for in on at so such and or but from into as number again slightly completely entirely totally somewhat aside please then
    now first before after until later back only too also instead something anything everything nothing whatever equal equals
    true false one two three ii iii
    """.split()  # noqa: SIM905
)
# Behind "change premise to", a comparative measures against the text at hand.
_COMPARATIVES: Final = frozenset(
    """
    better bigger brighter broader clearer cleaner darker different easier fancier faster friendlier funnier gentler happier harder
    heavier higher kinder larger less lighter longer louder lower milder more narrower newer nicer older quicker richer sharper
    shorter simpler slower smaller smarter smoother softer stricter stronger tighter tougher warmer weaker wider worse
    """.split()  # noqa: SIM905
)
# Programs that are told what to do by their next word.
_PROGRAMS: Final = frozenset(
    """
    ansible apk apt apt-get aws az bash brew bun bundle cargo cat cd chmod chown choco composer conda cp curl deno dnf docker
    docker-compose dotnet echo find flask gcloud gh git go gradle grep helm heroku java journalctl kill kubectl ls make mkdir
    mv mvn node npm npx pacman php pip pip3 pipx pnpm podman poetry psql py pytest python python3 rails rm rsync ruby scp sed
    sh ssh sudo systemctl tar terraform touch unzip uv uvx vercel wget winget yarn yum zsh
    """.split()  # noqa: SIM905
)
_ORDERED: Final = frozenset(
    """
    add apply attach audit build branch bundle check checkout cherry-pick ci clean clone commit compile config create delete
    deploy describe destroy dev diff down download edit enable eval exec export fetch freeze generate get images import info init
    inspect install kill link lint list load lock login logout logs merge mod new outdated pack patch plan prune ps publish
    pull push rebase release reload remove reset restart restore revert rm rollback rollout run save scale search serve set
    show start stash status stop switch sync tag test tidy top uninstall up update upgrade validate version vet view watch
    """.split()  # noqa: SIM905
)
_ALWAYS_COMMANDS: Final = frozenset(
    "cat cd chmod chown cp curl echo grep kill ls mkdir mv npx rm rsync scp sed ssh sudo tar touch unzip uvx wget".split()  # noqa: SIM905
)

_SENTENCE_MARKS: Final = re.compile(r"[,;:?…]|[.!](?:\s|$)|\s[-–—]\s|\s[({]")
# Assignments, code, paths, addresses, options of a command.
_CODE: Final = re.compile(r"[=<>|{}\[\]^~$\\@%]|\(\)|\w\(|&&|//|(?:^|\s)(?:--?\w|\.{0,2}/)|/\w+/")
_FILE: Final = re.compile(
    r"\.(?:bak|bmp|c|cfg|conf|cpp|css|csv|docx?|env|exe|gif|go|gz|h|html?|ini|ipynb|java|jpe?g|json|log|md|mp[34]|parquet|pdf|png"
    r"|pptx?|py|rb|rs|rst|sh|sql|svg|tex|toml|tsv?|tsx|txt|wav|xlsx?|xml|ya?ml|zip)$"
)
_LINE_BREAKS: Final = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_QUOTED: Final = re.compile(r'"[^"]+"|“[^”]+”|`[^`]+`')
_EDGES: Final = "\"'“”‘’`().,!#*_"  # noqa: RUF001 - typographic quotes are meant
_NUMBER: Final = re.compile(r"\d[\d.,:/%-]*")
_SETTLED: Final = {
    section: frozenset(name.replace("_", " ") for name in names) for section, names in lexicon("settled").items()
}
_NEXT_ORDER: Final = re.compile(r"(?:\band\b|\bthen\b|[.,;:!–—]|\s-)\s+(?:(?:and|then|please|now)\s+)*([a-z]+)")


def certainty(text: str, state: State) -> Certainty:
    """How sure it is that a message is a directive and nothing else, in a conversation of this state."""
    parsed = parse(text)
    if isinstance(parsed, Directive) and parsed.kind == "remove policy" and item_key(parsed.value) in state.policies:
        return "certain"  # whatever got into the state gets out again
    if why_ordinary(text):
        return "ordinary"
    if isinstance(parsed, Directive):
        return "certain" if _is_certain(parsed, state) else "doubtful"
    # A slip ("set premise to ...", "use") is corrected where it cannot be meant for the model.
    return "certain" if isinstance(parsed, Malformed) and text.strip() == "set premise" else "doubtful"


def _is_certain(directive: Directive, state: State) -> bool:
    match directive.kind:
        case "clear premise" | "reset policies" | "clear state" | "remove policy":
            return directive.kind != "remove policy" or _is_settled(directive.value, "prohibit")
        case "set premise":
            return not _goes_on(directive.value)
        case "change premise":
            return state.premise is not None and not _goes_on(directive.value)
        case "replace":
            settled = [item for item in (directive.value, directive.old) if _is_settled(item, "use")]
            held = [item for item in (directive.value, directive.old) if item_key(item) in state.policies]
            return bool(settled) and {*settled, *held} == {directive.value, directive.old}
        case kind:
            return _is_settled(directive.value, kind) or _contradicts(directive, state)


def _contradicts(directive: Directive, state: State) -> bool:
    held = state.policies.get(item_key(directive.value))
    return held is not None and held != directive.kind


def _goes_on(premise: str) -> bool:
    """Whether something is asked for behind a premise: "we use uv. write the Dockerfile"."""
    return "?" in premise or any(found.group(1) in _TASKS for found in _NEXT_ORDER.finditer(premise.lower()))


def _is_settled(item: str, kind: str) -> bool:
    key = item_key(item)
    if _QUOTED.fullmatch(item) or key in _SETTLED["tools"]:
        return True
    return key in _SETTLED["conventions"] or (kind != "use" and key in _SETTLED["banned"])


def why_ordinary(text: str) -> str:
    """Why a message is not to be taken for a directive: a slug; "" where it may go to the engine.

    Slugs: "none" (the grammar sees no directive), "lines", "long", "sentence".
    """
    if len(text) > 2 * MAX_PREMISE_CHARS:
        return "long"
    parsed = parse(text)
    if parsed is None:
        return "none"
    if _LINE_BREAKS.search(text.strip()):
        return "lines"
    if text.startswith(("set premise", "change premise")):
        return _why_no_premise(text.split(maxsplit=2)[2:])
    if isinstance(parsed, Directive):
        replaced = _why_no_item(parsed.old)
        return _why_no_item(parsed.value, parsed.kind) or replaced
    return ""


def _why_no_premise(rest: list[str]) -> str:
    if not rest:
        return ""
    value = rest[0].removeprefix("to ").strip()
    if len(value) > MAX_PREMISE_CHARS:
        return "long"
    first = value.split(maxsplit=1)[0].lower().strip(_EDGES) if value else ""
    ordinary = first in _ABOUT_A_PREMISE or first in _COMPARATIVES or first.isdigit() or value.endswith(("?", "？"))
    return "sentence" if ordinary else ""


def _why_no_item(item: str, kind: str = "use") -> str:
    if not item:
        return ""
    if len(item) > MAX_ITEM_CHARS or not tame(item):
        return "long"
    if _QUOTED.fullmatch(item):
        return ""
    item = unicodedata.normalize("NFKC", item)
    lower = item.lower().replace("’", "'")
    words = lower.split()
    if len(words) > MAX_ITEM_WORDS:
        return "long"
    if any(" ".join(words) in names for names in _SETTLED.values()):
        return ""
    if _SENTENCE_MARKS.search(item) or _CODE.search(lower) or _FILE.search(lower):
        return "sentence"
    words = [bare for word in words if (bare := word.strip(_EDGES))]
    return "sentence" if not words or _reads_as_request(words, kind) else ""


def _reads_as_request(words: list[str], kind: str) -> bool:
    if words[0] in _NOUN_FOLLOWERS or words[-1] in ("and", "of", "not"):
        return True
    if words[0] == "the" and (words[-1] in _AT_HAND or "of" in words or any(word in _ORDINALS for word in words)):
        return True
    if words[0] in ("last", "next") or any(word in _ARTICLES for word in words[1:]):
        return True
    if any(word in _SENTENCE_WORDS for word in words) or any(word in _PURE_TASKS for word in words[1:]):
        return True
    if _points(words) or _is_command(words):
        return True
    if kind != "use" and any(word in _WORKS for word in words):
        return True
    return any(word == "and" and after in _TASKS for word, after in pairwise(words))


def _points(words: list[str]) -> bool:
    """Whether the words point at something said before, by number, letter or name: "5", "b", "option 2", "word serendipity"."""
    named = words[1:] if words[0] in _ARTICLES and len(words) > 1 else words
    if all(_is_count(word) or word in _MOVES for word in named):
        return True
    if named[0] in _POINTERS and (len(named) > 1 or words[0] == "the"):
        return True
    return any(before in _POINTERS and _is_count(after) for before, after in pairwise(named))


def _is_count(word: str) -> bool:
    return len(word) == 1 or word in _COUNTS or word in _ORDINALS or _NUMBER.fullmatch(word) is not None


def _is_command(words: list[str]) -> bool:
    """Whether the words are typed in a shell: a program, and what it is to do."""
    if len(words) < 2 or words[0] not in _PROGRAMS:
        return False
    return words[0] in _ALWAYS_COMMANDS or any(word in _ORDERED for word in words[1:3])
