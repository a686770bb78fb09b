// Reads one streamed chat completion with each JavaScript client and prints what it understood as JSON.
// node stream.mjs BASE_URL KEY BODY: BODY is the request as JSON, with fields of Groundwarden's own.
import OpenAI from "openai";
import { streamText } from "ai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";

const [baseURL, apiKey, given] = process.argv.slice(2);
const body = { ...JSON.parse(given), stream: true, stream_options: { include_usage: true } };

async function openai() {
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  const read = { text: "", finish: [], tokens: null };
  for await (const chunk of await client.chat.completions.create(body)) {
    for (const choice of chunk.choices) {
      read.text += choice.delta.content ?? "";
      if (choice.finish_reason) read.finish.push(choice.finish_reason);
    }
    read.tokens = chunk.usage?.total_tokens ?? read.tokens;
  }
  return read;
}

async function vercel() {
  const fetchWithBody = (url, init) => fetch(url, { ...init, body: JSON.stringify(body) });
  const provider = createOpenAICompatible({ name: "groundwarden", baseURL, apiKey, fetch: fetchWithBody });
  const errors = [];
  const result = streamText({
    model: provider(body.model),
    messages: body.messages,
    maxRetries: 0,
    onError: ({ error }) => errors.push(String(error)),
  });
  let text = "";
  for await (const piece of result.textStream) text += piece;
  return { text, finish: [await result.finishReason], tokens: (await result.usage).totalTokens, errors };
}

console.log(JSON.stringify({ openai: await openai(), vercel: await vercel() }));
