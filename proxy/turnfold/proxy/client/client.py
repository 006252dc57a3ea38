"""The Python client: ``Client`` and ``AsyncClient``.

Lives here: attempts as a generator, and two drivers of it. Does not belong here: what a call sends (``calls``), exceptions
(``errors``), bodies (``api``).

Calls are retried after connection errors, 429 and 5xx, after 0.25 s, 0.5 s and 1 s (or as ``retry-after`` says). No retry does
harm: an add to a conversation carries a key, so an add that was applied is not applied again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeVar, Unpack

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from turnfold.proxy.api.bodies import (
    CacheStats,
    CompressAnswer,
    ConversationAnswer,
    ConversationView,
    DrillDownAnswer,
    ExchangeAnswer,
    LearnedWindow,
)
from turnfold.proxy.api.message_bodies import CompressMessagesAnswer, UncompressMessagesAnswer
from turnfold.proxy.client import calls
from turnfold.proxy.client.calls import ApiCall, MessageOptions, check_header, checked
from turnfold.proxy.client.errors import ConnectionFailed, InvalidArgument, TimedOut, UnexpectedAnswer, error_of

__all__ = ["AsyncClient", "Client"]

T = TypeVar("T")

DEFAULT_URL: Final = "http://127.0.0.1:8420"
_TIMEOUT: Final = 60.0
_RETRIES: Final = 3
_FIRST_WAIT: Final = 0.25
_LONGEST_WAIT: Final = 8.0


def _read(call: ApiCall[T], response: httpx.Response) -> T:
    try:
        body: Any = response.json()
    except (ValueError, RecursionError):
        body = response.text
    if not response.is_success:
        raise error_of(response.status_code, body)
    try:
        if isinstance(call.answer, type) and issubclass(call.answer, BaseModel):
            return call.answer.model_validate(body)
        return TypeAdapter(call.answer).validate_python(body)
    except ValidationError as exc:
        raise UnexpectedAnswer(
            f"{call.method} {call.path}: this is no answer of Turnfold's ({exc.error_count()} faults)"
        ) from exc


def _wait(attempt: int, response: httpx.Response | None) -> float:
    said = "" if response is None else response.headers.get("retry-after", "")
    return min(float(said) if said.isascii() and said.isdigit() else _FIRST_WAIT * 2**attempt, _LONGEST_WAIT)


#: Yields seconds to wait before it wants the next response; is sent a response or what was raised instead of one.
Attempts = Generator[float, "httpx.Response | httpx.TransportError", T]


def attempts(call: ApiCall[T], retries: int) -> Attempts[T]:
    """Repeat a call until it has an answer that needs no retry.

    Raises:
        ClientError: the last answer was an error, or there was none.
    """
    if retries < 0:
        raise ValueError("retries must not be negative")
    wait = 0.0
    for attempt in range(retries + 1):
        got = yield wait
        if isinstance(got, httpx.Response):
            if attempt == retries or (got.status_code != 429 and got.status_code < 500):
                return _read(call, got)
            wait = _wait(attempt, got)
        elif attempt == retries:
            kind = TimedOut if isinstance(got, httpx.TimeoutException) else ConnectionFailed
            raise kind(f"{call.method} {call.path}: {got or type(got).__name__}") from got
        else:
            wait = _wait(attempt, None)
    raise AssertionError("unreachable: the last attempt returns or raises")


def _unreadable(call: ApiCall[Any], exc: httpx.DecodingError) -> UnexpectedAnswer:
    return UnexpectedAnswer(f"{call.method} {call.path}: the answer is not coded as it says ({exc})")


def _headers(api_key: str | None) -> dict[str, str]:
    check_header("api_key", api_key or "")
    return {"authorization": f"Bearer {api_key}"} if api_key else {}


def _root(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as exc:
        raise InvalidArgument("base_url", f"is no URL: {ascii(str(exc))[1:-1]}") from exc
    path = url.path.rstrip("/")  # an OpenAI client's address ends with /v1, and so do the paths here begin
    return url.copy_with(path=path.removesuffix("/v1") or "/") if path.endswith("/v1") else url


def _unknown_host(exc: UnicodeError) -> InvalidArgument:
    return InvalidArgument("base_url", f"has a host name that cannot be encoded: {exc}")


class Client:
    """A running Turnfold's own API.

    Args:
        base_url: its root, without ``/v1``.
        api_key: the credential that names the tenant: the one that chat completions are made with.
        timeout: seconds for one attempt.
        retries: further attempts after the first; 0 or more.
        http: a client to use in place of one of its own; the caller closes it.

    Every call may raise `turnfold.proxy.client.errors.ClientError`.
    """

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        api_key: str | None = None,
        *,
        timeout: float = _TIMEOUT,
        retries: int = _RETRIES,
        http: httpx.Client | None = None,
    ) -> None:
        self._own = http is None
        self._http = http or httpx.Client(base_url=_root(base_url), headers=_headers(api_key), timeout=timeout)
        self._retries = retries

    def compress(
        self,
        text: str,
        *,
        layer: int | None = None,
        l1_ratio: float | None = None,
        l2_max_sentences: int | None = None,
        sections: bool | None = None,
        query: str | None = None,
        scorer: str | None = None,
    ) -> CompressAnswer:
        """Three layers of a text. Arguments that are left out have the server's defaults."""
        call = calls.compress(
            text,
            layer=layer,
            l1_ratio=l1_ratio,
            l2_max_sentences=l2_max_sentences,
            sections=sections,
            query=query,
            scorer=scorer,
        )
        return self._do(call)

    def add_message(
        self,
        conversation_id: str,
        role: str,
        content: str,
        *,
        compress_threshold: int | None = None,
        keep_recent: int | None = None,
    ) -> ConversationAnswer:
        """Add a message; the answer has the context to send in place of the conversation."""
        options = {"compress_threshold": compress_threshold, "keep_recent": keep_recent}
        return self._do(calls.add_message(conversation_id, role, content, **options))

    def conversation(self, conversation_id: str, *, export: bool = False) -> ConversationView:
        """A stored conversation; with `export`, all of it."""
        return self._do(calls.conversation(conversation_id, export))

    def import_conversation(self, conversation_id: str, export: str) -> ConversationView:
        """Replace a conversation by an exported one."""
        return self._do(calls.import_conversation(conversation_id, export))

    def delete_conversation(self, conversation_id: str) -> None:
        """Delete a conversation."""
        self._do(calls.delete_conversation(conversation_id))

    def drill_down(self, section_id: str, layer: int = 0) -> DrillDownAnswer:
        """A layer of a section."""
        return self._do(calls.drill_down(section_id, layer))

    def compress_messages(
        self, messages: Sequence[Mapping[str, Any]], **options: Unpack[MessageOptions]
    ) -> CompressMessagesAnswer:
        """Shortened messages and the originals. Options are the fields of the body, such as ``token_budget=2000``."""
        return self._do(calls.compress_messages(messages, options))

    def uncompress_messages(
        self, messages: Sequence[Any], verbatim: Mapping[str, Any] | None = None, *, recursive: bool = False
    ) -> UncompressMessagesAnswer:
        """The restored messages, from the given originals or from those stored on the server."""
        return self._do(calls.uncompress_messages(messages, verbatim, recursive))

    def exchange(
        self,
        text: str,
        *,
        accept: Sequence[str] = (),
        budget: int | None = None,
        drill_down: Sequence[str] = (),
        query: str | None = None,
        format: str | None = None,  # noqa: A002 - the field's name
    ) -> ExchangeAnswer:
        """A text in the first accepted encoding that fits the budget, else its summary."""
        return self._do(calls.exchange(text, accept, budget, drill_down, query=query, format=format))

    def state(self, conversation: str) -> dict[str, Any]:
        """State, checkpoint, pending prompt and block of a conversation."""
        return self._do(calls.state(conversation))

    def set_state(self, conversation: str, state_or_checkpoint: Mapping[str, Any]) -> dict[str, Any]:
        """Set a conversation's state for all messages to come."""
        return self._do(calls.set_state(conversation, state_or_checkpoint))

    def delete_state(self, conversation: str) -> None:
        """Delete a state that was set. The state follows from the messages again."""
        self._do(calls.delete_state(conversation))

    def preview_state(
        self,
        user_input: str,
        *,
        conversation: str | None = None,
        state: Mapping[str, Any] | None = None,
        checkpoint: Mapping[str, Any] | None = None,
        messages: Sequence[Mapping[str, Any]] | None = None,
        with_preprocessor: bool = False,
    ) -> dict[str, Any]:
        """What a message would do to a state: that of a conversation, a given one, or one replayed from messages (at most one).

        Nothing is changed.
        """
        start = {"conversation": conversation, "state": state, "checkpoint": checkpoint}
        return self._do(calls.preview_state(user_input, messages, **start, with_preprocessor=with_preprocessor))

    def report(self, admin_token: str, **query: str) -> dict[str, Any]:
        """What was saved: ``group_by="model"``, ``to=...`` and the other parameters of ``/admin/report``."""
        return self._do(calls.report(admin_token, query))

    def cache_stats(self) -> CacheStats:
        """Figures of the compression cache."""
        return self._do(calls.CACHE_STATS)

    def clear_cache(self) -> int:
        """Empty the compression cache. Returns the number of deleted results."""
        return self._do(calls.CACHE_CLEAR).cleared

    def windows(self) -> list[LearnedWindow]:
        """What your requests have taught of upstreams' windows."""
        return self._do(calls.WINDOWS).windows

    def forget_windows(self, *, upstream: str | None = None, model: str | None = None) -> int:
        """Forget what was learned: of one upstream, one model, or all. Returns the number of forgotten records."""
        return self._do(calls.forget_windows(upstream, model)).forgotten

    def _do(self, call: ApiCall[T]) -> T:
        tries = attempts(checked(call), self._retries)
        wait = next(tries)
        while True:
            time.sleep(wait)
            got: httpx.Response | httpx.TransportError
            try:
                got = self._http.request(call.method, call.path, json=call.body, headers=call.headers, params=call.query)
            except httpx.TransportError as exc:
                got = exc
            except httpx.DecodingError as exc:
                raise _unreadable(call, exc) from exc
            except UnicodeError as exc:  # all else was checked
                raise _unknown_host(exc) from exc
            try:
                wait = tries.send(got)
            except StopIteration as done:
                result: T = done.value
                return result

    def close(self) -> None:
        """Close connections."""
        if self._own:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncClient:
    """`Client` for asyncio: the same arguments, calls and exceptions."""

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        api_key: str | None = None,
        *,
        timeout: float = _TIMEOUT,
        retries: int = _RETRIES,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._own = http is None
        self._http = http or httpx.AsyncClient(base_url=_root(base_url), headers=_headers(api_key), timeout=timeout)
        self._retries = retries

    async def compress(
        self,
        text: str,
        *,
        layer: int | None = None,
        l1_ratio: float | None = None,
        l2_max_sentences: int | None = None,
        sections: bool | None = None,
        query: str | None = None,
        scorer: str | None = None,
    ) -> CompressAnswer:
        """Three layers of a text. Arguments that are left out have the server's defaults."""
        call = calls.compress(
            text,
            layer=layer,
            l1_ratio=l1_ratio,
            l2_max_sentences=l2_max_sentences,
            sections=sections,
            query=query,
            scorer=scorer,
        )
        return await self._do(call)

    async def add_message(
        self,
        conversation_id: str,
        role: str,
        content: str,
        *,
        compress_threshold: int | None = None,
        keep_recent: int | None = None,
    ) -> ConversationAnswer:
        """Add a message; the answer has the context to send in place of the conversation."""
        options = {"compress_threshold": compress_threshold, "keep_recent": keep_recent}
        return await self._do(calls.add_message(conversation_id, role, content, **options))

    async def conversation(self, conversation_id: str, *, export: bool = False) -> ConversationView:
        """A stored conversation; with `export`, all of it."""
        return await self._do(calls.conversation(conversation_id, export))

    async def import_conversation(self, conversation_id: str, export: str) -> ConversationView:
        """Replace a conversation by an exported one."""
        return await self._do(calls.import_conversation(conversation_id, export))

    async def delete_conversation(self, conversation_id: str) -> None:
        """Delete a conversation."""
        await self._do(calls.delete_conversation(conversation_id))

    async def drill_down(self, section_id: str, layer: int = 0) -> DrillDownAnswer:
        """A layer of a section."""
        return await self._do(calls.drill_down(section_id, layer))

    async def compress_messages(
        self, messages: Sequence[Mapping[str, Any]], **options: Unpack[MessageOptions]
    ) -> CompressMessagesAnswer:
        """Shortened messages and the originals. Options are the fields of the body, such as ``token_budget=2000``."""
        return await self._do(calls.compress_messages(messages, options))

    async def uncompress_messages(
        self, messages: Sequence[Any], verbatim: Mapping[str, Any] | None = None, *, recursive: bool = False
    ) -> UncompressMessagesAnswer:
        """The restored messages, from the given originals or from those stored on the server."""
        return await self._do(calls.uncompress_messages(messages, verbatim, recursive))

    async def exchange(
        self,
        text: str,
        *,
        accept: Sequence[str] = (),
        budget: int | None = None,
        drill_down: Sequence[str] = (),
        query: str | None = None,
        format: str | None = None,  # noqa: A002 - the field's name
    ) -> ExchangeAnswer:
        """A text in the first accepted encoding that fits the budget, else its summary."""
        return await self._do(calls.exchange(text, accept, budget, drill_down, query=query, format=format))

    async def state(self, conversation: str) -> dict[str, Any]:
        """State, checkpoint, pending prompt and block of a conversation."""
        return await self._do(calls.state(conversation))

    async def set_state(self, conversation: str, state_or_checkpoint: Mapping[str, Any]) -> dict[str, Any]:
        """Set a conversation's state for all messages to come."""
        return await self._do(calls.set_state(conversation, state_or_checkpoint))

    async def delete_state(self, conversation: str) -> None:
        """Delete a state that was set. The state follows from the messages again."""
        await self._do(calls.delete_state(conversation))

    async def preview_state(
        self,
        user_input: str,
        *,
        conversation: str | None = None,
        state: Mapping[str, Any] | None = None,
        checkpoint: Mapping[str, Any] | None = None,
        messages: Sequence[Mapping[str, Any]] | None = None,
        with_preprocessor: bool = False,
    ) -> dict[str, Any]:
        """What a message would do to a state: that of a conversation, a given one, or one replayed from messages (at most one).

        Nothing is changed.
        """
        start = {"conversation": conversation, "state": state, "checkpoint": checkpoint}
        return await self._do(calls.preview_state(user_input, messages, **start, with_preprocessor=with_preprocessor))

    async def report(self, admin_token: str, **query: str) -> dict[str, Any]:
        """What was saved: ``group_by="model"``, ``to=...`` and the other parameters of ``/admin/report``."""
        return await self._do(calls.report(admin_token, query))

    async def cache_stats(self) -> CacheStats:
        """Figures of the compression cache."""
        return await self._do(calls.CACHE_STATS)

    async def clear_cache(self) -> int:
        """Empty the compression cache. Returns the number of deleted results."""
        return (await self._do(calls.CACHE_CLEAR)).cleared

    async def windows(self) -> list[LearnedWindow]:
        """What your requests have taught of upstreams' windows."""
        return (await self._do(calls.WINDOWS)).windows

    async def forget_windows(self, *, upstream: str | None = None, model: str | None = None) -> int:
        """Forget what was learned: of one upstream, one model, or all. Returns the number of forgotten records."""
        return (await self._do(calls.forget_windows(upstream, model))).forgotten

    async def _do(self, call: ApiCall[T]) -> T:
        tries = attempts(checked(call), self._retries)
        wait = next(tries)
        while True:
            await asyncio.sleep(wait)
            got: httpx.Response | httpx.TransportError
            try:
                got = await self._http.request(call.method, call.path, json=call.body, headers=call.headers, params=call.query)
            except httpx.TransportError as exc:
                got = exc
            except httpx.DecodingError as exc:
                raise _unreadable(call, exc) from exc
            except UnicodeError as exc:  # all else was checked
                raise _unknown_host(exc) from exc
            try:
                wait = tries.send(got)
            except StopIteration as done:
                result: T = done.value
                return result

    async def close(self) -> None:
        """Close connections."""
        if self._own:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
