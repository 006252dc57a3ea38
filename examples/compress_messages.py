"""The engine as a library: old messages made shorter within a token budget, and restored byte for byte. No model, no network."""

from __future__ import annotations

from turnfold.compression import compress, strip_provenance, uncompress

messages = [{"role": "system", "content": "You keep the log of a harbour."}]
for day in range(60):
    said = f"Day {day}: pump {day % 7} held {40 + day} bar. The morning was calm. Nobody called."
    messages.append({"role": "user", "content": said})
    messages.append({"role": "assistant", "content": "Noted, thank you. I wish you a quiet day, and a good lunch as well."})

result = compress(messages, {"token_budget": 900})
to_send = strip_provenance(result.messages)  # without the notes that compression needs to restore the originals
print(f"{len(messages)} messages became {len(to_send)}, of {result.token_count} tokens; within the budget: {result.fits}")

restored = uncompress(result.messages, result.verbatim)
print("restored byte for byte:", restored.messages == messages)
