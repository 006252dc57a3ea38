"""The Python client: ``Client`` and ``AsyncClient``.

The methods that both share, when a call is retried, and the two ways to send it. What a call sends and how its answer is read is
in ``calls``, the exceptions are in ``errors``, the bodies in ``api``.

Calls are retried after connection errors, 429 and 5xx, after 0.25 s, 0.5 s and 1 s (or as ``retry-after`` says). No retry does
harm: an add to a conversation carries a key, so an add that was applied is not applied again.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine, Generator
from functools import update_wrapper
from types import MethodType, TracebackType
from typing import Any, Final, Generic, ParamSpec, Self, TypeVar, overload

import httpx
from pydantic import ValidationError

from turnfold.config.settings import is_loopback
from turnfold.proxy.client import calls
from turnfold.proxy.client.calls import ApiCall, check_header, checked
from turnfold.proxy.client.errors import ConnectionFailed, InvalidArgument, TimedOut, UnexpectedAnswer, error_of

__all__ = ["AsyncClient", "Client"]

P = ParamSpec("P")
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
        return call.read(body)
    except ValidationError as exc:
        raise UnexpectedAnswer(
            f"{call.method} {call.path}: the answer does not have Turnfold's format ({exc.error_count()} faults)"
        ) from exc


def _wait(attempt: int, response: httpx.Response | None) -> float:
    said = "" if response is None else response.headers.get("retry-after", "")
    return min(float(said) if said.isascii() and said.isdigit() else _FIRST_WAIT * 2**attempt, _LONGEST_WAIT)


#: Yields the seconds to wait before the next attempt; is sent the response, or the exception that was raised instead.
Attempts = Generator[float, "httpx.Response | httpx.TransportError", T]


def attempts(call: ApiCall[T], retries: int) -> Attempts[T]:
    """Repeat a call until it has an answer that needs no retry. The driver sends and waits.

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


def _headers(api_key: str | None) -> dict[str, str]:
    check_header("api_key", api_key or "")
    return {"authorization": f"Bearer {api_key}"} if api_key else {}


def _root(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as exc:
        raise InvalidArgument("base_url", f"is not a URL: {ascii(str(exc))[1:-1]}") from exc
    if url.scheme not in ("http", "https") or not url.host:
        raise InvalidArgument("base_url", "must begin with http:// or https:// and name a host")
    path = url.path.rstrip("/")  # an OpenAI client's base URL ends with /v1, and the paths here begin with it
    return url.copy_with(path=path.removesuffix("/v1") or "/") if path.endswith("/v1") else url


def _past_proxy(url: httpx.URL) -> dict[str, None]:
    """Routes past the environment's proxy, as to an upstream: it would look for this machine's address on its own machine."""
    host = f"[{url.host}]" if ":" in url.host else url.host
    return {f"all://{host}": None} if is_loopback(url.host) else {}


def _unsent(call: ApiCall[Any], exc: Exception) -> httpx.TransportError:
    """An exception of httpx's as the one that `attempts` is sent; raises those that no retry would change."""
    if isinstance(exc, httpx.TransportError):
        return exc
    if isinstance(exc, httpx.DecodingError):
        raise UnexpectedAnswer(f"{call.method} {call.path}: the answer's content encoding is wrong ({exc})") from exc
    # A UnicodeError: everything but the host was checked.
    raise InvalidArgument("base_url", f"has a host name that cannot be encoded: {exc}") from exc


_UNSENT: Final = (httpx.TransportError, httpx.DecodingError, UnicodeError)


class _Method(Generic[P, T]):
    """A method of both clients: it has the parameters of a function of ``calls``, and sends the call that this returns.

    On a `Client` it returns the result, on an `AsyncClient` a coroutine of it; type checkers see which.
    """

    def __init__(self, describe: Callable[P, ApiCall[T]]) -> None:
        def method(self: Client | AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self.send(describe(*args, **kwargs))

        self._method = update_wrapper(method, describe)
        self._method.__signature__ = _signature(describe)  # type: ignore[attr-defined]

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[..., Any]: ...
    @overload
    def __get__(self, client: Client, owner: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type[Any]) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type[Any]) -> Any:
        return self._method if client is None else MethodType(self._method, client)


def _signature(describe: Callable[..., ApiCall[Any]]) -> inspect.Signature:
    """The signature that ``help`` and the reference show: with ``self``, and the type of the result alone."""
    found = inspect.signature(describe)
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *found.parameters.values()]
    return found.replace(parameters=parameters, return_annotation=found.return_annotation.removeprefix("ApiCall[")[:-1])


class _Methods:
    """The methods of both clients."""

    compress = _Method(calls.compress)
    drill_down = _Method(calls.drill_down)
    exchange = _Method(calls.exchange)
    add_message = _Method(calls.add_message)
    conversation = _Method(calls.conversation)
    import_conversation = _Method(calls.import_conversation)
    delete_conversation = _Method(calls.delete_conversation)
    compress_messages = _Method(calls.compress_messages)
    uncompress_messages = _Method(calls.uncompress_messages)
    state = _Method(calls.state)
    set_state = _Method(calls.set_state)
    delete_state = _Method(calls.delete_state)
    preview_state = _Method(calls.preview_state)
    report = _Method(calls.report)
    cache_stats = _Method(calls.cache_stats)
    clear_cache = _Method(calls.clear_cache)
    windows = _Method(calls.windows)
    forget_windows = _Method(calls.forget_windows)


class Client(_Methods):
    """A running Turnfold's own API.

    Args:
        base_url: its root; a ``/v1`` at its end makes no difference.
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
        if http is None:
            url, headers = _root(base_url), _headers(api_key)
            http = httpx.Client(base_url=url, headers=headers, timeout=timeout, mounts=_past_proxy(url))
        self._http = http
        self._retries = retries

    def send(self, call: ApiCall[T]) -> T:
        """Send a call, as often as it takes, and return its result."""
        tries = attempts(checked(call), self._retries)
        wait = next(tries)
        while True:
            time.sleep(wait)
            got: httpx.Response | httpx.TransportError
            try:
                got = self._http.request(call.method, call.path, json=call.body, headers=call.headers, params=call.query)
            except _UNSENT as exc:
                got = _unsent(call, exc)
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


class AsyncClient(_Methods):
    """`Client` for asyncio: the same arguments, methods and exceptions."""

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
        if http is None:
            url, headers = _root(base_url), _headers(api_key)
            http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, mounts=_past_proxy(url))
        self._http = http
        self._retries = retries

    async def send(self, call: ApiCall[T]) -> T:
        """Send a call, as often as it takes, and return its result."""
        tries = attempts(checked(call), self._retries)
        wait = next(tries)
        while True:
            await asyncio.sleep(wait)
            got: httpx.Response | httpx.TransportError
            try:
                got = await self._http.request(call.method, call.path, json=call.body, headers=call.headers, params=call.query)
            except _UNSENT as exc:
                got = _unsent(call, exc)
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
