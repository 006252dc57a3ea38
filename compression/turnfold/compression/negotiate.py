"""Context exchange between agents (row C13): choosing the encoding of a text for a receiver.

The choice, and the result as an A2A message part and an MCP resource. Headers and HTTP are up to the shell; the layers are made
in ``layers``.

An encoding is a layer by another name: raw, facts, summary. The receiver lists the encodings that it accepts, in order of
preference, and a token budget. It gets the first that fits, else the summary, plus the requested sections that fit the remaining
budget.

Formats: A2A protocol 0.3, ``TextPart``; Model Context Protocol 2025-06-18, ``TextResourceContents``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from turnfold.compression.errors import InvalidInput
from turnfold.compression.layers import CompressedResult, SectionLayer

Encoding = Literal["raw", "facts", "summary"]
ENCODINGS: Final[tuple[Encoding, ...]] = ("raw", "facts", "summary")  # in the order of layers 0, 1, 2
_NAMESPACE: Final = "turnfold"


@dataclass(frozen=True, slots=True)
class Demand:
    """What a receiver accepts.

    Attributes:
        accepted: encodings in order of preference, at least one.
        budget: maximum number of tokens; None: no limit.

    Raises:
        InvalidInput: an encoding is unknown or none is given, or the budget is below 1.
    """

    accepted: tuple[Encoding, ...] = ENCODINGS
    budget: int | None = None

    def __post_init__(self) -> None:
        if not self.accepted or any(name not in ENCODINGS for name in self.accepted):
            raise InvalidInput("accepted", f"must name at least one of {', '.join(ENCODINGS)}")
        if self.budget is not None and self.budget < 1:
            raise InvalidInput("budget", "must be a whole number from 1")


@dataclass(frozen=True, slots=True)
class ExchangeResult:
    """The result for the receiver.

    Attributes:
        fits: whether the text fits the budget.
        sections: ids of the sections of the text, for drill-down.
        drilled: requested sections that fit.
        left_out: ids of requested sections that do not fit.
    """

    encoding: Encoding
    text: str
    tokens: int
    raw_tokens: int
    fits: bool
    result_id: str
    sections: tuple[str, ...]
    drilled: tuple[SectionLayer, ...] = ()
    left_out: tuple[str, ...] = ()


def encodings(names: Sequence[str]) -> tuple[Encoding, ...]:
    """Validated encoding names, without duplicates, in order.

    Raises:
        InvalidInput: a name is unknown.
    """
    if unknown := [name for name in names if name not in ENCODINGS]:
        raise InvalidInput("accepted", f"{unknown[0][:40]!r} is none of {', '.join(ENCODINGS)}")
    return cast(tuple[Encoding, ...], tuple(dict.fromkeys(names)))


def negotiate(result: CompressedResult, demand: Demand, wanted: Sequence[SectionLayer] = ()) -> ExchangeResult:
    """Choose the encoding, then add as many of the wanted sections, in order, as fit into the remaining budget."""
    sizes = dict(zip(ENCODINGS, result.layers, strict=True))
    room = demand.budget if demand.budget is not None else float("inf")
    chosen: Encoding = next((name for name in demand.accepted if sizes[name].tokens <= room), "summary")
    layer = sizes[chosen]
    left = room - layer.tokens
    drilled: list[SectionLayer] = []
    for section in wanted:
        if section.tokens <= left:
            drilled.append(section)
            left -= section.tokens
    taken = {section.section_id for section in drilled}
    return ExchangeResult(
        encoding=chosen,
        text=layer.text,
        tokens=layer.tokens,
        raw_tokens=result.layers[0].tokens,
        fits=layer.tokens <= room,
        result_id=result.result_id,
        sections=tuple(section.id for section in result.sections),
        drilled=tuple(drilled),
        left_out=tuple(section.section_id for section in wanted if section.section_id not in taken),
    )


def _figures(exchanged: ExchangeResult) -> dict[str, Any]:
    return {
        "encoding": exchanged.encoding,
        "tokens": exchanged.tokens,
        "rawTokens": exchanged.raw_tokens,
        "resultId": exchanged.result_id,
        "sections": list(exchanged.sections),
    }


def to_a2a_part(exchanged: ExchangeResult) -> dict[str, Any]:
    """A part of an A2A message; its metadata contains what a receiver needs for drill-down."""
    return {"kind": "text", "text": exchanged.text, "metadata": {_NAMESPACE: _figures(exchanged)}}


def to_mcp_resource(exchanged: ExchangeResult) -> dict[str, Any]:
    """Contents of an MCP resource, as in a ``resources/read`` response or an embedded resource."""
    return {
        "uri": f"turnfold://results/{exchanged.result_id}/{exchanged.encoding}",
        "mimeType": "text/plain",
        "text": exchanged.text,
        "_meta": {_NAMESPACE: _figures(exchanged)},
    }
