// @vitest-environment node
// The package as it is published: built, packed, unpacked elsewhere, and used by plain Node.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { beforeAll, expect, test } from "vitest";
import { PIECES } from "./testing/log.js";
import { ScriptedServer } from "./testing/server.js";

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, "../..");
const PACKED = join(ROOT, "build/packed");
// Below node_modules of its own, so that it is found by its name; what it depends on is found further up.
const UNPACKED = join(PACKED, "node_modules/@polystream/client");

const PROGRAM = `
import { followRun, startRun } from "@polystream/client/resume";
import { PROTOCOLS } from "@polystream/client/transport";
import { cancelStream } from "@polystream/client/cancel";

const base = process.argv[2];
const request = { messages: [{ role: "user", content: "Hello" }] };
const told = [];
for (const [at, protocol] of PROTOCOLS.entries()) {
  const run = startRun(request, { base, protocol });
  let text = "";
  for await (const event of run) {
    if (event.type === "text") text += event.text;
    if (event.seq === 2) run.switchTo(PROTOCOLS[(at + 1) % PROTOCOLS.length]);
    if (event.seq === 4) run.drop();
  }
  const { id, phase, verified, connections } = run;
  told.push({ text, phase, verified, protocols: connections.map((each) => each.protocol) });
  const rest = followRun(id, 2, { base, protocol });
  for await (const event of rest) if (event.seq === 4) rest.stop();
  await cancelStream(base, id);
}
console.log(JSON.stringify(told));
// It ends by itself, since nothing is left that would keep it.
`;

const CONSUMER = `
import type { Event } from "@polystream/client/event";
import { startRun } from "@polystream/client/resume";
import type { Transport } from "@polystream/client/transport";
import { grpcweb } from "@polystream/client/grpcweb";

const transport: Transport = grpcweb;
const run = startRun({ messages: [] }, { protocol: "rest", transports: { grpcweb: transport } });
for await (const event of run) {
  const same: Event = event;
  if (same.type === "text") same.text.trim();
}
`;

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

async function manifest(path: string): Promise<Manifest> {
  return JSON.parse(await readFile(path, "utf8")) as Manifest;
}

beforeAll(async () => {
  await run("npm", ["run", "build:client"], { cwd: ROOT });
  await rm(PACKED, { recursive: true, force: true });
  await mkdir(UNPACKED, { recursive: true });
  await run("npm", ["pack", join(ROOT, "build/client"), "--pack-destination", PACKED], { cwd: PACKED });
  await run("tar", ["-xzf", "polystream-client-0.1.0.tgz", "--strip-components=1", "-C", UNPACKED], {
    cwd: PACKED,
  });
}, 60_000);

test("plain Node streams with it over every protocol, and ends", { timeout: 30_000 }, async () => {
  const server = await new ScriptedServer().listen();
  await writeFile(join(PACKED, "program.mjs"), PROGRAM);
  try {
    const { stdout, stderr } = await run(process.execPath, [join(PACKED, "program.mjs"), server.base], {
      timeout: 20_000,
    });
    expect(stderr).toBe("");
    const told = JSON.parse(stdout) as { text: string; protocols: string[] }[];
    expect(told.length).toBe(4);
    for (const each of told) {
      expect(each).toMatchObject({ text: PIECES.join(""), phase: "finished", verified: "verified" });
      expect(new Set(each.protocols).size).toBe(2);
      expect(each.protocols.length).toBe(3);
    }
    expect(server.cancelled.length).toBe(4);
  } finally {
    await server.close();
  }
});

test("its types are found by TypeScript as Node resolves", { timeout: 30_000 }, async () => {
  await writeFile(join(PACKED, "consumer.mts"), CONSUMER);
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--skipLibCheck"];
  await run(join(ROOT, "node_modules/.bin/tsc"), [...options, "--ignoreConfig", "consumer.mts"], {
    cwd: PACKED,
  });
});

test("all that it exports is there, and nothing of the tests", async () => {
  const { exports } = await manifest(join(UNPACKED, "package.json"));
  for (const paths of Object.values(exports)) {
    for (const path of Object.values(paths)) expect(existsSync(join(UNPACKED, path)), path).toBe(true);
  }
  expect(existsSync(join(UNPACKED, "README.md")) && existsSync(join(UNPACKED, "LICENSE"))).toBe(true);
  expect(existsSync(join(UNPACKED, "stream/testing"))).toBe(false);
  expect(existsSync(join(UNPACKED, "stream/resume.test.js"))).toBe(false);
});

test("it asks for what it is tested with", async () => {
  const ours = await manifest(join(import.meta.dirname, "package.json"));
  const tested = await manifest(join(ROOT, "package.json"));
  for (const [name, range] of Object.entries(ours.dependencies))
    expect(range).toBe(`^${tested.dependencies[name]}`);
});

test("it is small: 10 kB, and 40 more for gRPC-Web when it is used", { timeout: 60_000 }, async () => {
  const input = join(UNPACKED, "stream/resume.js");
  const result = await build({
    configFile: false,
    root: PACKED,
    logLevel: "error",
    build: { write: false, target: "es2022", rollupOptions: { input, preserveEntrySignatures: "strict" } },
  });
  if (!("output" in result)) throw new Error("no output");
  const chunks = result.output.filter((each) => each.type === "chunk");
  const weigh = (lazy: boolean) =>
    chunks
      .filter(({ isDynamicEntry }) => isDynamicEntry === lazy)
      .reduce((sum, { code }) => sum + gzipSync(code).length, 0);
  expect(weigh(false)).toBeGreaterThan(5_000);
  expect(weigh(false)).toBeLessThan(10_000);
  expect(weigh(true)).toBeGreaterThan(20_000);
  expect(weigh(true)).toBeLessThan(40_000);
});
