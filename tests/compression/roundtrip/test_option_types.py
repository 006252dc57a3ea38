"""What a type checker says of options: every `type: ignore` here is an error that mypy must find, or `make check` fails
(`warn_unused_ignores` of its strict mode).

These tests cover calls that mypy refuses and accepts, and that at run time the same are refused. They leave out what options do.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import fields
from typing import TYPE_CHECKING, assert_type, get_type_hints

import pytest

from turnfold.compression import Compressed, CompressOptions, CompressOptionsDict, InvalidInput, compress, uncompress
from turnfold.proxy.api.message_bodies import CompressMessagesBody
from turnfold.proxy.client import Client
from turnfold.proxy.client.calls import MessageOptions

if TYPE_CHECKING:  # it takes half a second to import
    from openai.types.chat import ChatCompletionMessageParam

TALK: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


def test_a_misspelt_option_is_refused_before_and_at_run_time() -> None:
    with pytest.raises(InvalidInput, match="token_bugdet"):
        compress(TALK, {"token_bugdet": 900})  # type: ignore[call-overload]
    with pytest.raises(InvalidInput, match="dedup"):
        compress(TALK, {"dedup": "yes"})  # type: ignore[call-overload]
    with pytest.raises(InvalidInput, match="messages"):
        compress("hi", {"dedup": True})  # type: ignore[call-overload]


def test_what_is_right_is_accepted_and_has_its_type() -> None:
    options: CompressOptionsDict = {"token_budget": 900, "preserve": ["system"]}
    assert_type(compress(TALK, options), Compressed)
    assert_type(compress(TALK, CompressOptions(recency_window=0)), Compressed)
    assert uncompress(compress(TALK)).messages == TALK


def awaited() -> Awaitable[Compressed]:
    """For mypy alone: with a summarizer the result is awaited, however that is given."""
    assert_type(compress(TALK, {"summarizer": str.strip}), Awaitable[Compressed])
    return compress(TALK, {"trace": True}, summarizer=str.strip)


def of_the_client(client: Client) -> None:
    """For mypy alone."""
    client.compress_messages(TALK, token_budget=900, token_counter="o200k_base")
    client.compress_messages(TALK, token_bugdet=900)  # type: ignore[call-arg]
    client.compress_messages(TALK, token_counter="words")  # type: ignore[arg-type]


def test_the_types_name_every_option() -> None:
    assert set(get_type_hints(CompressOptionsDict)) == {field.name for field in fields(CompressOptions)}
    assert set(get_type_hints(MessageOptions)) == set(CompressMessagesBody.model_fields) - {"messages"}
