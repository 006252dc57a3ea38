"""Frozen options of a fold.

Every number and switch that a fold depends on, with its default and its reason. ``turnfold.config`` reads them from settings.
Nothing here changes while a process runs.

Same messages and same options give the same bytes (law 5), so whatever can change a byte of the output is in here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

#: Part of every fold's identity. A release that changes bytes raises it and says so in the changelog.
ENGINE_VERSION: Final = 24
#: Length in tokens of the shortest prefix that most providers cache.
USUAL_LEAST: Final = 1024
#: Price of a token that is kept for an hour, where providers charge for writes (Anthropic, "Prompt caching": twice the input).
HOUR_WRITE: Final = 2.0
_OURS: Final = 1.125  # our tokens for each token of a provider, at most


@dataclass(frozen=True, slots=True)
class CachePrices:
    """Prices of the provider's prompt cache, relative to one uncached input token.

    Attributes:
        read: price of a token read from the cache (1.0: no cache or no discount).
        write: price of a token written to it (1.0: no surcharge).
        least: tokens of the shortest prefix that it keeps, if more than `USUAL_LEAST`; otherwise 0.
    """

    read: float = 1.0
    write: float = 1.0
    least: int = 0

    @property
    def cached_from(self) -> int:
        """Our tokens from which a repeated prompt is certain to be read from the cache; 0 if that is no cheaper."""
        return int(_OURS * (self.least or USUAL_LEAST)) if self.read < 1 else 0

    def keeps(self, size: int) -> bool:
        """Whether a prompt with this many tokens may be cheaper when it is sent again."""
        return self.read < self.write and size >= self.cached_from

    def for_an_hour(self) -> CachePrices:
        """The same if what is written is kept for an hour; unchanged where writing costs nothing extra."""
        return replace(self, write=max(self.write, HOUR_WRITE)) if self.write > 1 else self

    def reread(self, hit_share: float) -> float:
        """Expected price of sending an old token once more: ``h*r + (1-h)*w``."""
        return hit_share * self.read + (1 - hit_share) * self.write


@dataclass(frozen=True, slots=True)
class Warmth:
    """How often a request finds the provider's prompt cache warm.

    Attributes:
        turns: share of the requests that end with a user's message, 0 to 1.
        loops: share of the requests that end with a tool result, 0 to 1; they follow within seconds.
    """

    turns: float
    loops: float

    def share(self, loops: float) -> float:
        """The share in a conversation of which `loops` (0 to 1) are tool loops."""
        return self.turns + (self.loops - self.turns) * loops


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A summary of messages ``start..end`` of a conversation, written by a model. It can replace the block of exactly these.

    Attributes:
        prefix: digest of the conversation's beginning up to `end` (``fold.decisions.prefixes``).
        text: the summary as quoted, checked against its source.
    """

    start: int
    end: int
    prefix: str
    text: str


@dataclass(frozen=True, slots=True)
class FoldDecision:
    """The part of a fold that depends on time. It is decided at a few requests of a conversation and applies until the next of
    these.

    Attributes:
        warmth: the expected warmth of the cache.
        brake: whether folding stops, because earlier folds of the conversation have not paid off.
        summaries: in a belief, all summaries written so far; in a decision, those adopted at its fold event.
        caches: whether the upstream has ever been observed to cache this model's prompts.
        cold: whether the deciding request comes so long after the previous one that the cache has expired. It does not apply to
            later requests.
        hour: whether the client's cache marks keep what they write for an hour. The first decision determines it for the whole
            conversation: a client that changes its marks must not move earlier folds.
    """

    warmth: Warmth
    brake: bool = False
    summaries: tuple[WrittenSummary, ...] = ()
    caches: bool = False
    cold: bool = False
    hour: bool = False


@dataclass(frozen=True, slots=True)
class Precedent:
    """A decision, stored under the beginning of the conversation for which it was made (``fold.decisions``).

    Attributes:
        at: number of messages in that beginning.
        prefix: digest of these messages.
    """

    at: int
    prefix: str
    decision: FoldDecision


@dataclass(frozen=True, slots=True)
class Precedence:
    """What is known of a conversation's precedents.

    Attributes:
        known: its precedents in the options.
        newest: digest of the newest one, including new ones; "" if there is none.
        length: number of messages in the conversation.
        unknown: requests for which the caller should look up decisions: number of messages -> digest.
    """

    known: tuple[Precedent, ...] = ()
    newest: str = ""
    length: int = 0
    unknown: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Likeness:
    """The similarity of a user message to the passages before it, by sentence vectors, from when it was first forwarded.

    Attributes:
        at: number of messages through that message.
        prefix: digest of these messages (``fold.decisions.prefixes``).
        by_message: for each message before it, one int8 for each passage (cosine times 127), or b"" if unknown; () if nothing is
            known, so that words decide.
    """

    at: int
    prefix: str
    by_message: tuple[bytes, ...] = ()


def _nothing(border: int) -> str:
    """The state block if there is no state."""
    del border
    return ""


@dataclass(frozen=True, slots=True)
class StateBlocks:
    """A conversation's state as texts before user messages (made by ``turnfold.compression.state``).

    Attributes:
        pins: message indices and blocks, in order; the last one is in force.
        carried: the block with the state before a message; "" if no state was ever set.
    """

    pins: tuple[tuple[int, str], ...] = ()
    carried: Callable[[int], str] = _nothing


@dataclass(frozen=True, slots=True)
class Keep:
    """Messages that are never shaped or shortened, whatever their size.

    Attributes:
        tools: names of tools whose results stay unchanged.
        roles: roles whose messages stay unchanged: "user", "assistant", "tool".
    """

    tools: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()

    def __or__(self, other: Keep) -> Keep:
        """The union of both."""
        return Keep(self.tools | other.tools, self.roles | other.roles)


KEEP_NOTHING: Final = Keep()


@dataclass(frozen=True, slots=True)
class Prose:
    """How to word the prose that a fold keeps.

    Attributes:
        intensity: "off" (sentences stay unchanged), "lite", "full" or "ultra" (see ``shorten.terse_prose.compress``).
        lexicon: TOML of the user's own rules; "" for none.
    """

    intensity: str = "off"
    lexicon: str = ""


@dataclass(frozen=True, slots=True)
class FoldOptions:
    """Everything that a fold depends on besides the messages.

    Attributes:
        model: the model's name as sent by the client; selects the vocabulary for budgets and final counts.
        prices: the model's cache prices; they determine how much stays raw and how often a fold pays off.
        prices_if_cached: prices to assume instead once the upstream is observed to have a cache (``decisions.under_prices``);
            None: `prices` are known.
        cache_hit_share: share of requests that find the cache warm, 0 to 1; used if nothing is decided.
        belief: what to decide where nothing was decided yet; None: make no decisions in this conversation.
        precedents: earlier decisions; they take precedence over `belief`.
        borrowed: decisions about the conversation for another model. Each applies where there is no precedent, and becomes one.
        budget: most tokens of the forwarded request, including tool schemas; None: no limit.
        leaves_room: if true and there is a budget, requests of a tool loop extend an earlier one, which leaves room for them
            (``attempts``); otherwise each request uses the whole budget.
        window: the model's published input window in tokens; used by ``fit``, ignored by a fold.
        recall: whether passages of folded turns are quoted after the user's message.
        recall_tool_text: whether tool results may be quoted there (they are quoted as data either way).
        shape_results: whether tool results are rewritten into a smaller form with the same values when they first appear.
        cache_breakpoints: whether the upstream accepts ``prompt_cache_breakpoint`` on a text part (OpenAI 5.6 and later).
        keep: messages that are never shaped or shortened.
        prose: how to word the prose kept at FACTS.
        trims_endings: whether the upstream refuses white space at the end of an assistant's text, for any model name.
        preserved_thinking: whether the model accepts a thinking block only after the messages it was produced from. Then fold
            events happen only at the user's own turns, and remove all earlier thinking. None: decided by the model's name.
        drops_thinking: whether to ask the provider to drop thinking that a fold made invalid, if the request allows asking. Then
            fold events may happen within a tool loop, which loses its thinking so far.
        wants_summaries: whether the fold reports the blocks for which a written summary would be used.
        recall_stays: whether quotes recalled for a user message stay until the next fold event, at any cost.
        likenesses: similarities by sentence vectors, determined once for each user message.
        wants_likeness: whether the fold reports the user messages with recall that have no similarities yet.
        heard: digests of precedents. If a conversation's newest precedent is not among them, the fold asks for the decisions of
            all its requests; otherwise only if it decides something, and only for later requests.
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
        """Whether an assistant's text must not end with white space. Claude requires this, under any cloud's name for it."""
        return self.trims_endings or "claude" in self.model.lower()
