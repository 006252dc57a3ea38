"""An agent with one tool. After each request it prints what Turnfold did: long tool results are where folding saves most."""

from __future__ import annotations

import json
import os

from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam

READINGS: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "read_meter",
        "description": "The hourly readings of a water meter on one day.",
        "parameters": {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]},
    },
}


def read_meter(day: str) -> str:
    """Made-up readings; a real agent would ask a database here."""
    hours = [{"day": day, "hour": hour, "litres": 40 + 7 * hour % 90, "valve": "open"} for hour in range(24)]
    return json.dumps(hours, indent=2)


client = OpenAI()
messages: list[ChatCompletionMessageParam] = [
    {"role": "user", "content": "In which hour of Monday was most water used? Look it up, then answer in one sentence."}
]
for _ in range(5):  # an agent needs a bound on its rounds
    answer = client.chat.completions.with_raw_response.create(
        model=os.environ.get("MODEL", "gpt-4o-mini"), messages=messages, tools=[READINGS]
    )
    headers = answer.headers
    before, after = headers.get("x-turnfold-tokens-before", "?"), headers.get("x-turnfold-tokens-after", "?")
    print(f"[turnfold: {headers.get('x-turnfold-status', 'not in between')}, {before} tokens in, {after} sent]")
    message = answer.parse().choices[0].message
    messages.append(message.model_dump(exclude_none=True))  # type: ignore[arg-type]
    if not message.tool_calls:
        print(message.content)
        break
    for call in message.tool_calls:
        if call.type == "function":
            result = read_meter(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
client.close()
