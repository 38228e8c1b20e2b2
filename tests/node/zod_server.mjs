// A server with schemas of every kind that zod writes: node zod_server.mjs 1|2, by the SDK's number.
import { createRequire } from "node:module";
import * as zod from "zod";
import * as zod3 from "zod/v3";

const [sdk, z] =
  process.argv[2] === "1" ? ["1", process.argv[3] === "3" ? zod3.z : zod.z] : ["2", zod.z];
// The inspector brings the second SDK, possibly in a folder of its own.
const brought = createRequire(
  new URL("node_modules/@modelcontextprotocol/inspector/package.json", import.meta.url),
);
const { McpServer } = await import(
  sdk === "1"
    ? "@modelcontextprotocol/sdk/server/mcp.js"
    : brought.resolve("@modelcontextprotocol/server")
);
const { StdioServerTransport } = await import(
  sdk === "1"
    ? "@modelcontextprotocol/sdk/server/stdio.js"
    : brought.resolve("@modelcontextprotocol/server/stdio")
);

const server = new McpServer({ name: "zod", version: "1.0.0" });
const shapes = {
  texts: {
    mail: z.string().email(),
    page: z.string().url().optional(),
    id: z.string().uuid().optional(),
    code: z.string().regex(/^(?!00)\d{2,4}$/).optional(),
    when: z.string().datetime().optional(),
    word: z.string().min(2).max(5).optional(),
  },
  numbers: {
    whole: z.number().int().min(0).max(10),
    step: z.number().multipleOf(0.5).optional(),
    above: z.number().gt(1).lt(2).optional(),
    yes: z.boolean().default(true),
  },
  choices: {
    color: z.enum(["red", "绿"]),
    one: z.literal("fixed").optional(),
    either: z.union([z.string(), z.number()]).optional(),
    perhaps: z.string().nullable().optional(),
    shape: z
      .discriminatedUnion("kind", [
        z.object({ kind: z.literal("circle"), r: z.number() }),
        z.object({ kind: z.literal("square"), side: z.number() }),
      ])
      .optional(),
  },
  nested: {
    list: z.array(z.object({ name: z.string(), tags: z.array(z.string()).max(3) })).min(1),
    pair: z.tuple([z.string(), z.number()]).optional(),
    map: z.record(z.string(), z.number()).optional(),
    all: z.intersection(z.object({ a: z.number() }), z.object({ b: z.number() })).optional(),
    any: z.any().optional(),
    open: z.object({ known: z.string() }).passthrough().optional(),
    closed: z.object({ known: z.string() }).strict().optional(),
  },
};
for (const [name, shape] of Object.entries(shapes)) {
  const given = sdk === "1" ? shape : z.object(shape);
  server.registerTool(name, { description: `Takes ${name}.`, inputSchema: given }, async (got) => ({
    content: [{ type: "text", text: JSON.stringify(got) }],
  }));
}
const out = { total: z.number(), parts: z.array(z.object({ at: z.string() })), note: z.string().nullable() };
server.registerTool(
  "structured",
  { description: "Gives structure.", outputSchema: sdk === "1" ? out : z.object(out) },
  async () => {
    const found = { total: 1.5, parts: [{ at: "猫" }], note: null };
    return { content: [{ type: "text", text: JSON.stringify(found) }], structuredContent: found };
  },
);
server.registerTool("fails", { description: "Fails." }, async () => {
  throw new Error("it broke 💥");
});
await server.connect(new StdioServerTransport());
