// The official Node SDK of OpenAI through Turnfold: chat completions and Responses, whole and streamed, errors with their class.
import assert from "node:assert/strict";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.env.ORIGIN}/v1`, apiKey: "sk-user", maxRetries: 0 });
const prose = (n) => Array.from({ length: 60 }, (_, i) => `Crane ${n} stood in bay ${i * n} with reference N-${n * 97 + i}.`).join(" ");

const messages = [];
const input = [];
for (let n = 0; n < 40; n++) {
  messages.push({ role: "user", content: `Turn ${n}: ${prose(n)}` }, { role: "assistant", content: `Noted ${n}.` });
  input.push({ role: "user", content: `Turn ${n}: what of crane ${n}?` });
  input.push({ type: "reasoning", id: `rs_${n}`, summary: [], encrypted_content: "gAAA" + "q".repeat(700) });
  input.push({ type: "function_call", id: `fc_${n}`, call_id: `c${n}`, name: "look", arguments: "{}" });
  input.push({ type: "function_call_output", call_id: `c${n}`, output: prose(n) });
}
messages.push({ role: "user", content: "And crane 3?" });
input.push({ role: "user", content: "And crane 3?" });

const chat = await client.chat.completions.create({ model: "gpt-4o", messages }).withResponse();
assert.equal(chat.data.choices[0].message.content, "43 t.");
assert.equal(chat.response.headers.get("x-turnfold-status"), "folded");

const whole = await client.responses.create({ model: "gpt-4o", input, store: false }).withResponse();
assert.equal(whole.data.output_text, "43 t.");
assert.equal(whole.response.headers.get("x-turnfold-status"), "folded");

let streamed = "";
for await (const event of await client.responses.create({ model: "gpt-4o", input, store: false, stream: true })) {
  if (event.type === "response.output_text.delta") streamed += event.delta;
}
assert.equal(streamed, "43 t.");

await assert.rejects(client.responses.create({ model: "refused", input, store: false }), (error) => {
  return error instanceof OpenAI.RateLimitError && error.message.includes("Said the upstream.");
});
console.log("openai: chat, responses, stream, error");
