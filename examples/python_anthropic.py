"""A streamed chat with Anthropic's SDK. The base URL comes from ANTHROPIC_BASE_URL, without ``/v1``."""

from __future__ import annotations

import os

from anthropic import Anthropic
from anthropic.types import MessageParam

client = Anthropic()
messages: list[MessageParam] = []
for question in ("What is a heron?", "And where does it nest?"):
    messages.append({"role": "user", "content": question})
    with client.messages.stream(
        model=os.environ.get("MODEL", "claude-sonnet-5"), max_tokens=300, system="You are terse.", messages=messages
    ) as stream:
        said = ""
        for text in stream.text_stream:
            said += text
            print(text, end="", flush=True)
        status = stream.response.headers.get("x-turnfold-status", "not in between")
    print(f"\n[turnfold: {status}]")
    messages.append({"role": "assistant", "content": said})
client.close()
