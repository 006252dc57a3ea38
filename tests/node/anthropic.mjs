// The official Node SDK of Anthropic through Turnfold: messages, whole and streamed, errors with their class.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: process.env.ORIGIN, apiKey: "sk-ant-user", maxRetries: 0 });
const prose = (n) => Array.from({ length: 60 }, (_, i) => `Crane ${n} stood in bay ${i * n} with reference N-${n * 97 + i}.`).join(" ");

const messages = [];
for (let n = 0; n < 40; n++) {
  messages.push({ role: "user", content: [{ type: "text", text: `Turn ${n}: what of crane ${n}?` }] });
  messages.push({ role: "assistant", content: [{ type: "tool_use", id: `t${n}`, name: "look", input: { crane: n } }] });
  messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: `t${n}`, content: [{ type: "text", text: prose(n) }] }] });
  messages.push({ role: "assistant", content: [{ type: "text", text: `Crane ${n} lifts ${n + 40} t.` }] });
}
messages.push({ role: "user", content: "And crane 3?" });
const asked = { model: "claude-sonnet-4-6", max_tokens: 90, messages };

const whole = await client.messages.create(asked).withResponse();
assert.equal(whole.data.content[0].text, "43 t.");
assert.equal(whole.response.headers.get("x-turnfold-status"), "folded");

const stream = client.messages.stream(asked);
assert.equal(await stream.finalText(), "43 t.");

await assert.rejects(client.messages.create({ ...asked, model: "refused" }), (error) => {
  return error instanceof Anthropic.RateLimitError && error.message.includes("Said the upstream.");
});
console.log("anthropic: messages, stream, error");
