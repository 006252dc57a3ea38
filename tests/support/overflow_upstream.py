"""A chat-completions server that enforces a context window, and complains in the words of many servers.

It has the server, its tokenizer, its dialects, and its own check of a well-formed request. It uses nothing of Turnfold's: the
server has to find by itself what Turnfold gets wrong.
"""

# ruff: noqa: E501  (a dialect is one line, however long its words)

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

Render = Callable[[int, int, int], Any]
Room = Literal["none", "asked", "always"]

_PIECE = re.compile(r"[A-Za-z]{1,5}|\d{1,3}|[^\W\d_a-zA-Z]|\n+|[^\w\s]|_", re.UNICODE)


def count_text(text: str) -> int:
    """Tokens of a text by this server's own vocabulary: words in pieces of five letters, other scripts letter by letter."""
    return sum(1 for _ in _PIECE.finditer(text))


def count_request(body: dict[str, Any]) -> int:
    """Tokens of a request: every string of every message, a template of five tokens a message, schemas as JSON."""
    total = 3
    for message in body["messages"]:
        total += 5 + sum(count_text(text) for text in _strings(message))
    for key in ("tools", "functions"):
        total += count_text(json.dumps(body.get(key) or ""))
    return total


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


@dataclass(frozen=True)
class Dialect:
    """How one kind of server refuses a prompt that is too long.

    Attributes:
        render: limit, prompt tokens and output room to the error's body, a JSON value or ready text.
        room: whether output room counts towards the window: never, where the client asked for some, or always (a default).
        in_stream: whether a streamed request gets the error as the first event of a 200.
        truncates: whether it says nothing and drops the oldest tokens.
    """

    name: str
    render: Render
    status: int = 400
    room: Room = "asked"
    in_stream: bool = False
    truncates: bool = False
    content_type: str = "application/json"


def _openai(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": "messages", **more}}


_CLASSIC = "This model's maximum context length is {0} tokens. However, you requested {3} tokens ({1} in the messages, {2} in the completion). Please reduce the length of the messages or completion."


def _classic(limit: int, prompt: int, output: int) -> str:
    return _CLASSIC.format(limit, prompt, output, prompt + output)


def _tgi(limit: int, prompt: int, output: int) -> Any:
    text = f"Input validation error: `inputs` tokens + `max_new_tokens` must be <= {limit}. Given: {prompt} `inputs` tokens and {output} `max_new_tokens`"
    return {"error": text, "error_type": "validation"}


def _sglang(limit: int, prompt: int, output: int) -> Any:
    if prompt >= limit:
        text = f"The input ({prompt} tokens) is longer than the model's context length ({limit} tokens)."
    else:
        text = f"Requested token count exceeds the model's maximum context length of {limit} tokens. You requested a total of {prompt + output} tokens: {prompt} tokens from the input messages and {output} tokens for the completion."
    return {"object": "error", "message": text, "type": "BadRequestError", "param": None, "code": 400}


def _vllm_at_least(limit: int, prompt: int, output: int) -> Any:
    least = limit - output + 1
    return {
        "error": {
            "message": f"This model's maximum context length is {limit} tokens. However, you requested {output} output tokens and your prompt contains at least {least} input tokens, for a total of at least {limit + 1} tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value={least})",
            "type": "BadRequestError",
            "param": "input_tokens",
            "code": 400,
        }
    }


def _llama_cpp(limit: int, prompt: int, output: int) -> Any:
    text = f"request ({prompt} tokens) exceeds the available context size ({limit} tokens), try increasing it"
    return {
        "error": {"code": 400, "message": text, "type": "exceed_context_size_error", "n_prompt_tokens": prompt, "n_ctx": limit}
    }


def _openrouter_raw(limit: int, prompt: int, output: int) -> Any:
    raw = json.dumps(
        {
            "error": {
                "message": f"This model's maximum context length is {limit} tokens. However, you requested {prompt + output} tokens"
            }
        }
    )
    return {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw, "provider_name": "X"}}}


DIALECTS: dict[str, Dialect] = {
    d.name: d
    for d in (
        Dialect("openai", lambda n, p, o: _openai(f"This model's maximum context length is {n} tokens. However, your messages resulted in {p} tokens. Please reduce the length of the messages.", code="context_length_exceeded")),
        Dialect("azure", lambda n, p, o: _openai(f"Input tokens exceed the configured limit of {n} tokens. Your messages resulted in {p} tokens. Please reduce the length of the messages.", code="context_length_exceeded"), room="none"),
        Dialect("anthropic", lambda n, p, o: {"error": {"code": "invalid_request_error", "message": f"prompt is too long: {p} tokens > {n} maximum" if p > n else f"input length and `max_tokens` exceed context limit: {p} + {o} > {n}, decrease input length or `max_tokens` and try again", "type": "invalid_request_error", "param": None}}),
        Dialect("gemini", lambda n, p, o: [{"error": {"code": 400, "message": f"The input token count ({p}) exceeds the maximum number of tokens allowed ({n}).", "status": "INVALID_ARGUMENT"}}], room="none"),
        Dialect("openrouter", lambda n, p, o: {"error": {"message": f"This endpoint's maximum context length is {n} tokens. However, you requested about {p + o} tokens ({p} of text input, {o} in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.", "code": 400}}, in_stream=True),
        Dialect("openrouter-nested", _openrouter_raw, in_stream=True),
        Dialect("xai", lambda n, p, o: {"code": "invalid-argument", "error": f"This model's maximum prompt length is {n} but the request contains {p} tokens."}, room="none"),
        Dialect("groq", lambda n, p, o: _openai("Please reduce the length of the messages or completion.", code="context_length_exceeded")),
        Dialect("cerebras", lambda n, p, o: {"message": f"Please reduce the length of the messages or completion. Current length is {p} while limit is {n}", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}, room="none"),
        Dialect("mistral", lambda n, p, o: {"object": "error", "message": f"Prompt contains {p} tokens and 0 draft tokens, too large for model with {n} maximum context length", "type": "invalid_request_prompt_too_long", "param": None, "code": "3051"}, room="none"),
        Dialect("deepseek", lambda n, p, o: {"error": {"message": _classic(n, p, o), "type": "invalid_request_error", "param": None, "code": "invalid_request_error"}}, room="always"),
        Dialect("together", _sglang),
        Dialect("fireworks", lambda n, p, o: {"error": {"object": "error", "type": "invalid_request_error", "code": "invalid_request_error", "message": f"The prompt is too long: {p}, model maximum context length: {n}"}}, room="none"),
        Dialect("vllm", _vllm_at_least),
        Dialect("vllm-old", lambda n, p, o: {"object": "error", "message": _classic(n, p, o), "type": "BadRequestError", "param": None, "code": 400}),
        Dialect("vllm-stream", lambda n, p, o: {"error": {"message": f"This model's maximum context length is {n} tokens. However, your request has {p} input tokens. Please reduce the length of the input messages. (parameter=input_tokens, value={p})", "type": "BadRequestError", "param": "input_tokens", "code": 400}}, in_stream=True),
        Dialect("llama.cpp", _llama_cpp, room="none"),
        Dialect("sglang", _sglang, in_stream=True),
        Dialect("tgi", _tgi, status=422, room="always"),
        Dialect("lmstudio", lambda n, p, o: {"error": f"Trying to keep the first {p} tokens when context the overflows. However, the model is loaded with context length of only {n} tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}, room="none", in_stream=True),
        Dialect("cohere", lambda n, p, o: {"message": f"too many tokens: total number of tokens in the prompt cannot exceed {n} - received {p}. Try using a shorter prompt, or enabling prompt truncating."}, room="none"),
        Dialect("bedrock", lambda n, p, o: {"message": "Input is too long for requested model."}, room="none"),
        Dialect("dashscope", lambda n, p, o: {"error": {"message": f"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, {n}]", "type": "invalid_request_error", "code": "invalid_parameter_error"}}, room="none"),
        Dialect("cloudflare", lambda n, p, o: {"errors": [{"message": f"AiError: Ai: The estimated number of input and maximum output tokens ({p + o}) exceeded this model context window limit ({n}). (c0a7213e)", "code": 5021}], "success": False, "result": {}}, status=413),
        Dialect("html-gateway", lambda n, p, o: f"<html><body><h1>400 Bad Request</h1><p>prompt is too long: {p} tokens &gt; {n} maximum</p></body></html>", content_type="text/html", room="none"),
        Dialect("ollama", lambda n, p, o: {}, truncates=True),
        Dialect("ollama-2026", lambda n, p, o: _openai("the prompt is longer than the context length currently available to the model; shorten the prompt, adjust the context length in settings, or use a model with a longer context length", code=None), room="none"),
    )
}  # fmt: skip

#: Answers that are no overflow, whatever the size of the request: status and body.
LOOK_ALIKES: dict[str, tuple[int, Any]] = {
    "tpm-429": (429, {"error": {"message": "Request too large for m in organization o on tokens per min (TPM): Limit 30000, Requested 36278.", "type": "tokens", "code": "rate_limit_exceeded"}}),
    "tpm-413": (413, {"error": {"message": "Request too large for model `m` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.", "type": "tokens", "code": "rate_limit_exceeded"}}),
    "max-tokens": (400, {"error": {"message": "max_tokens is too large: 50000. This model supports at most 16384 completion tokens, whereas you provided 50000.", "param": "max_tokens", "code": "invalid_value"}}),
    "string": (400, {"error": {"message": "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576, but got a string with length 1153433 instead.", "code": "string_above_max_length"}}),
    "filter": (400, {"error": {"message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.", "code": "content_filter"}}),
    "bytes": (413, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
    "quota": (429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
    "server": (500, {"error": {"message": "internal error computing maximum context length", "type": "server_error"}}),
}  # fmt: skip


@dataclass
class Log:
    """What the server saw: bodies, its counts, and what was wrong with their structure."""

    bodies: list[dict[str, Any]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


_KNOWN_KEYS = frozenset(
    {"model", "messages", "max_tokens", "max_completion_tokens", "stream", "stream_options", "tools", "tool_choice", "temperature", "user", "functions", "response_format"}
)  # fmt: skip


def faults_of(body: dict[str, Any]) -> list[str]:
    """What a strict server would refuse."""
    faults = [f"unknown key {key}" for key in body if key not in _KNOWN_KEYS]
    waiting: list[str] = []
    last = ""
    for i, message in enumerate(body["messages"]):
        role, content, calls = message.get("role"), message.get("content"), message.get("tool_calls") or []
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                faults.append(f"{i}: result without its call")
            else:
                waiting.remove(message["tool_call_id"])
        elif waiting:
            faults.append(f"{i}: calls without results {waiting}")
            waiting = []
        if role in ("user", "assistant") and role == last:
            faults.append(f"{i}: two {role} messages in a row")
        if not calls and (not content or (isinstance(content, list) and any(p.get("text") == "" for p in content))):
            faults.append(f"{i}: empty content")
        if role == "assistant" and isinstance(content, str) and content != content.rstrip() and "left out" in content:
            faults.append(f"{i}: trailing white space")
        waiting += [c["id"] for c in calls]
        faults += [
            f"{i}: arguments are no JSON" for c in calls if "partial" not in c["id"] and not _is_json(c["function"]["arguments"])
        ]
        last = role
    if waiting:
        faults.append("calls without results at the end")
    if last not in ("user", "tool"):
        faults.append(f"the last message is the {last}'s")
    return faults


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def application(dialect: Dialect, window: int, log: Log, look_alike: tuple[int, Any] | None = None) -> Starlette:
    """The server as an ASGI application.

    Args:
        look_alike: status and body of an answer to every request that is longer than the window, in place of the dialect's.
    """

    async def chat(request: Request) -> Response:
        body = json.loads(await request.body())
        prompt = count_request(body)
        asked = body.get("max_completion_tokens") or body.get("max_tokens")
        output = {"none": 0, "asked": asked or 0, "always": asked or min(1024, window // 8)}[dialect.room]
        log.bodies.append(body)
        log.counts.append(prompt)
        log.faults += faults_of(body)
        log.headers.append(dict(request.headers))
        if prompt + output > window:
            if look_alike:
                return _error(look_alike[1], look_alike[0], "application/json")
            if not dialect.truncates:
                return _refusal(dialect, dialect.render(window, prompt, output), bool(body.get("stream")))
            prompt = window - 1
        return _answer(body, prompt)

    return Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])


def _refusal(dialect: Dialect, error: Any, streamed: bool) -> Response:
    if streamed and dialect.in_stream:
        frame = f": PROCESSING\n\nevent: error\ndata: {json.dumps(error)}\n\n"
        return StreamingResponse(iter([frame[:9], frame[9:40], frame[40:]]), media_type="text/event-stream")
    return _error(error, dialect.status, dialect.content_type)


def _error(error: Any, status: int, content_type: str) -> Response:
    text = error if isinstance(error, str) else json.dumps(error)
    return Response(text, status, {"x-request-id": "req-original", "x-should-retry": "false"}, media_type=content_type)


def _answer(body: dict[str, Any], prompt: int) -> Response:
    usage = {"prompt_tokens": prompt, "completion_tokens": 2, "total_tokens": prompt + 2}
    base = {"id": "chatcmpl-1", "created": 1, "model": body.get("model", "")}
    if not body.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", "content": "It fits."}, "finish_reason": "stop"}
        return Response(
            json.dumps({**base, "object": "chat.completion", "choices": [choice], "usage": usage}), media_type="application/json"
        )
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, {"content": "It "}, {"content": "fits."}]
    frames = [json.dumps({**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": d}]}) for d in deltas]
    frames.append(json.dumps({**base, "object": "chat.completion.chunk", "choices": [], "usage": usage}))
    return StreamingResponse((f"data: {frame}\n\n" for frame in [*frames, "[DONE]"]), media_type="text/event-stream")


@contextmanager
def served(app: Any) -> Iterator[str]:
    """An ASGI application on a free port of the loopback; gives its base URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)
        listener.close()
