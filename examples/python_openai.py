"""A streamed chat with OpenAI's SDK. The base URL comes from OPENAI_BASE_URL; nothing else changes with Turnfold."""

from __future__ import annotations

import os

from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam

client = OpenAI()
messages: list[ChatCompletionMessageParam] = [{"role": "system", "content": "You are terse."}]
for question in ("What is a heron?", "And where does it nest?"):
    messages.append({"role": "user", "content": question})
    answer = client.chat.completions.with_raw_response.create(
        model=os.environ.get("MODEL", "gpt-4o-mini"), messages=messages, stream=True
    )
    said = ""
    with answer.parse() as stream:
        for chunk in stream:
            for choice in chunk.choices:
                said += choice.delta.content or ""
                print(choice.delta.content or "", end="", flush=True)
    print(f"\n[turnfold: {answer.headers.get('x-turnfold-status', 'not in between')}]")
    messages.append({"role": "assistant", "content": said})
client.close()
