"""Frozen options of a fold.

Lives here: every number and switch that a fold depends on, with its default and its reason. Does not belong here: reading them
from anywhere (``turnfold.config`` does), or anything that changes while a process runs.

Same messages and same options give the same bytes (law 5), so whatever can change a byte of the output is in here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

#: Part of every fold's identity: a release that changes bytes raises it and says so in the changelog.
ENGINE_VERSION: Final = 19
#: Tokens of the shortest prefix that most providers cache.
USUAL_LEAST: Final = 1024
_OURS: Final = 1.125  # tokens by our count for each one by a provider's, at most


@dataclass(frozen=True, slots=True)
class CachePrices:
    """What the provider's prompt cache costs, relative to one uncached input token.

    Attributes:
        read: price of a token read from the cache (1.0: no cache or no discount).
        write: price of a token written to it (1.0 where writing is free of charge).
        least: tokens of the shortest prefix that it keeps, where that is more than `USUAL_LEAST`; else 0.
    """

    read: float = 1.0
    write: float = 1.0
    least: int = 0

    @property
    def cached_from(self) -> int:
        """Tokens by our count from which a prompt is surely read from the cache when it is sent again; 0: that is no cheaper."""
        return int(_OURS * (self.least or USUAL_LEAST)) if self.read < 1 else 0

    def keeps(self, size: int) -> bool:
        """Whether a prompt of so many tokens may be cheaper when it is sent again."""
        return self.read < self.write and size >= self.cached_from

    def reread(self, hit_share: float) -> float:
        """Expected price of sending an old token once more: ``h*r + (1-h)*w``."""
        return hit_share * self.read + (1 - hit_share) * self.write


@dataclass(frozen=True, slots=True)
class Warmth:
    """How often a request finds the provider's prompt cache warm.

    Attributes:
        turns: share of the requests that a message of the user's ends, 0 to 1.
        loops: share of those that a tool's result ends, 0 to 1; they follow within seconds.
    """

    turns: float
    loops: float

    def share(self, loops: float) -> float:
        """The share in a conversation of which `loops` (0 to 1) are tool loops."""
        return self.turns + (self.loops - self.turns) * loops


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A summary that a model wrote of messages ``start..end`` of a conversation; it may stand for the block of just these.

    Attributes:
        prefix: digest of the conversation's beginning up to `end` (``fold.decisions.prefixes``).
        text: as it is quoted, checked against its source.
    """

    start: int
    end: int
    prefix: str
    text: str


@dataclass(frozen=True, slots=True)
class FoldDecision:
    """What time brings to a fold: it is decided at few requests of a conversation, and holds until the next of these.

    Attributes:
        warmth: what is believed of the cache.
        brake: whether nothing more is folded, because earlier folds of the conversation have not paid.
        summaries: of what is believed: what has been written so far; of a decision: what was adopted at its fold event.
        caches: whether the upstream was ever seen to read this model's prompts from a cache.
        cold: whether the request at which this is decided comes so long after the one before that the cache has nothing of it
            any more. It says nothing of the requests behind that.
    """

    warmth: Warmth
    brake: bool = False
    summaries: tuple[WrittenSummary, ...] = ()
    caches: bool = False
    cold: bool = False


@dataclass(frozen=True, slots=True)
class Precedent:
    """A decision under the beginning of the conversation for which it was made (``fold.decisions``).

    Attributes:
        at: number of messages of that beginning.
        prefix: their digest.
    """

    at: int
    prefix: str
    decision: FoldDecision


@dataclass(frozen=True, slots=True)
class Precedence:
    """How far a conversation's precedents are known.

    Attributes:
        known: those that the options had of it.
        newest: digest of the newest one, new ones included; "" where there is none.
        length: messages of the conversation.
        unknown: requests of which it is asked whether something was decided at them, by number of messages: the digest.
    """

    known: tuple[Precedent, ...] = ()
    newest: str = ""
    length: int = 0
    unknown: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Likeness:
    """How like a user message the passages before it are, as sentence vectors said when it was first forwarded.

    Attributes:
        at: number of messages through that message.
        prefix: their digest (``fold.decisions.prefixes``).
        by_message: for each message before it one int8 a passage, a cosine times 127; b"" where nothing is known; () where
            nothing is known at all, so that words decide.
    """

    at: int
    prefix: str
    by_message: tuple[bytes, ...] = ()


def _nothing(border: int) -> str:
    """No state."""
    del border
    return ""


@dataclass(frozen=True, slots=True)
class StateBlocks:
    """A conversation's state as texts that stand in front of user messages (``turnfold.compression.state`` makes them).

    Attributes:
        pins: message index and block, in order; the last one is in force.
        carried: the block that says what was laid down before a message; "" where nothing ever was.
    """

    pins: tuple[tuple[int, str], ...] = ()
    carried: Callable[[int], str] = _nothing


@dataclass(frozen=True, slots=True)
class Keep:
    """What is never shaped or shortened, whatever its size.

    Attributes:
        tools: names of tools whose results stay as they came.
        roles: roles whose messages do: "user", "assistant", "tool".
    """

    tools: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()

    def __or__(self, other: Keep) -> Keep:
        """Both together."""
        return Keep(self.tools | other.tools, self.roles | other.roles)


KEEP_NOTHING: Final = Keep()


@dataclass(frozen=True, slots=True)
class Prose:
    """How the prose that a fold keeps is worded.

    Attributes:
        intensity: "off" (sentences stay as they were said), "lite", "full" or "ultra" (see ``shorten.terse_prose.compress``).
        lexicon: TOML of the user's own rules; "" for none.
    """

    intensity: str = "off"
    lexicon: str = ""


@dataclass(frozen=True, slots=True)
class FoldOptions:
    """Everything that a fold depends on beside the messages.

    Attributes:
        model: the model's name as the client wrote it; chooses the vocabulary for budgets and final counts.
        prices: the model's cache prices; they set how much is left raw and how often a fold pays.
        prices_if_cached: those that are assumed instead where the upstream was seen to have a cache (``decisions.under_prices``);
            None: `prices` are known.
        cache_hit_share: share of requests that find the cache warm, 0 to 1; it holds where nothing is decided.
        belief: what is to be decided where nothing was decided yet; None: nothing is decided in the whole conversation.
        precedents: what was decided before; it goes before `belief`.
        borrowed: what was decided of the conversation for another model: each holds where there is no precedent, and becomes one.
        budget: tokens that the forwarded request may take, tool schemas included; None: no limit.
        leaves_room: whether, under a budget, what a tool loop sends goes on from an earlier request of it, which leaves room for
            that (``attempts``); else all of the budget is used each time.
        window: input tokens that the model takes, where published; a fold ignores it, ``fit`` does not.
        recall: whether passages of folded turns are quoted behind the user's message.
        recall_tool_text: whether tool results may be quoted there (they are quoted as data either way).
        shape_results: whether tool results take a smaller form with the same values when they first appear.
        cache_breakpoints: whether the upstream takes ``prompt_cache_breakpoint`` on a text part (OpenAI 5.6 and later).
        keep: what is never shaped or shortened.
        prose: how the prose kept at FACTS is worded.
        trims_endings: whether the upstream refuses white space at the end of an assistant's text, whatever its model is called.
        preserved_thinking: whether the model takes a thinking block only behind what was sent when it was produced: fold events
            fall at the user's own turns, and take all earlier thinking out; None: as the model's name says.
        drops_thinking: whether the provider is asked to drop thinking that a fold made invalid, where a request lets it be asked:
            fold events may fall inside of a tool loop then, at the price of what was thought in it so far.
        wants_summaries: whether the fold says of which blocks a written summary would be used.
        recall_stays: whether what was recalled for a user message stays until the next fold event, whatever reading it costs.
        likenesses: what sentence vectors said of user messages, decided once for each.
        wants_likeness: whether the fold names the user messages that recall is for and of which nothing was decided yet.
        heard: digests of precedents: where a conversation's newest one is not among them, the fold asks of all requests whether
            something was decided at them; else only where it decides something, and of those behind what is known.
    """

    model: str = ""
    prices: CachePrices = CachePrices()
    prices_if_cached: CachePrices | None = None
    cache_hit_share: float = 0.7
    belief: FoldDecision | None = None
    precedents: tuple[Precedent, ...] = ()
    borrowed: tuple[Precedent, ...] = ()
    budget: int | None = None
    leaves_room: bool = True
    window: int | None = None
    recall: bool = True
    recall_tool_text: bool = True
    shape_results: bool = True
    cache_breakpoints: bool = False
    keep: Keep = Keep()
    prose: Prose = Prose()
    trims_endings: bool = False
    preserved_thinking: bool | None = None
    drops_thinking: bool = False
    wants_summaries: bool = False
    recall_stays: bool = False
    likenesses: tuple[Likeness, ...] = ()
    wants_likeness: bool = False
    heard: frozenset[str] = frozenset()

    @property
    def refuses_trailing_space(self) -> bool:
        """Whether an assistant's text must not end in white space: so it is for Claude, under whatever name a cloud has it."""
        return self.trims_endings or "claude" in self.model.lower()
