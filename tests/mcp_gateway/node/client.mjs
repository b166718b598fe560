// The TypeScript client on the gateway: prints one JSON object for each mode and transport.
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const { GATEWAY_URL: url, GATEWAY_KEY: key, GATEWAY_COMMAND: command, QUESTION: query } = process.env;
const headers = { Authorization: `Bearer ${key}` };
const ways = {
  bearer: () => new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }),
  path: () => new StreamableHTTPClientTransport(new URL(`${url}/${key}/mcp`)),
  sse: () => new SSEClientTransport(new URL(`${url}/${key}/sse`)),
  stdio: () => {
    const [program, ...args] = JSON.parse(command);
    return new StdioClientTransport({ command: program, args, env: process.env, stderr: "ignore" });
  },
};
const modes = { legacy: "legacy", auto: "auto", pinned: { pin: "2026-07-28" } };

async function visit(way, mode) {
  const client = new Client(
    { name: "test", version: "1" },
    { versionNegotiation: { mode: modes[mode] } },
  );
  await client.connect(ways[way]());
  const progress = [];
  const { tools } = await client.listTools();
  const answer = await client.callTool(
    { name: "perplexity_agent", arguments: { query } },
    { onprogress: (told) => progress.push(told.message) },
  );
  const wrong = await client.callTool({ name: "perplexity_ask", arguments: { query, domain: ["a.example"] } });
  let unknown = null;
  try {
    await client.callTool({ name: "no_such_tool", arguments: {} });
  } catch (error) {
    unknown = error.code;
  }
  const { resources } = await client.listResources();
  const quota = await client.readResource({ uri: "pplx://quota" });
  const { prompts } = await client.listPrompts();
  const prompt = await client.getPrompt({ name: "fact_check", arguments: { statement: "Tides." } });
  await client.close();
  return {
    way,
    mode,
    tools: tools.map((tool) => tool.name),
    text: answer.content[0].text,
    structured: answer.structuredContent,
    progress,
    wrong: { text: wrong.content[0].text, isError: wrong.isError },
    unknown,
    resources: resources.map((resource) => resource.uri),
    quota: JSON.parse(quota.contents[0].text),
    prompts: prompts.map((found) => found.name),
    prompt: prompt.messages[0].content.text,
  };
}

for (const [way, mode] of process.argv.slice(2).map((text) => text.split(":"))) {
  console.log(JSON.stringify(await visit(way, mode)));
}
