// The UI's build, development server and tests. The build goes to dist/, which nginx serves.
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// Where `npm run dev` finds everything that is not the UI: a running `make run`.
const door = process.env.POLYSTREAM_URL ?? "http://localhost:8080";
const served = ["/v1", "/polystream.v1.Streams", "/healthz", "/readyz"];

export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    // CSP forbids inline scripts and styles' data: fonts; assets are files with a hash in their name.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: true,
    reportCompressedSize: false,
  },
  server: { proxy: Object.fromEntries(served.map((path) => [path, { target: door, ws: true }])) },
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.ts", "src/**/*.test.tsx"],
    restoreMocks: true,
    // Node's own EventSource, for tests without a browser.
    execArgv: ["--experimental-eventsource"],
  },
});
