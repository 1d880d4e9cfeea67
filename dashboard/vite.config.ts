import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const server = process.env["TARSY_URL"] ?? "http://127.0.0.1:8080";
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// A smaller file fits into a packet or two anyway.
const WORTH_COMPRESSING = 1_400;

/** Writes a compressed copy of each file, which the server sends to browsers that accept it. */
const compressed: Plugin = {
  name: "compressed-copies",
  apply: "build",
  // Vite changes files until they are written.
  writeBundle({ dir = "" }, bundle) {
    for (const name of Object.keys(bundle).filter((file) => file.startsWith("assets/"))) {
      const content = readFileSync(join(dir, name));
      if (content.length >= WORTH_COMPRESSING) writeFileSync(join(dir, `${name}.gz`), gzipSync(content, { level: 9 }));
    }
  },
};

export default defineConfig({
  plugins: [react(), compressed],
  resolve: { alias: { "@": here("./src") } },
  // The server replaces this by the nonce of each response; the content security policy allows only styles with it.
  html: { cspNonce: "__CSP_NONCE__" },
  build: {
    outDir: here("../src/tarsy/api/static"),
    emptyOutDir: true,
    // The content security policy does not allow data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 800,
    // One file for the first page: by default, every set of pages that share modules gets a file of its own.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "first-page", tags: ["$initial"] }] } } },
  },
  server: {
    proxy: { "/api": { target: server }, "/health": { target: server }, "/ws": { target: server, ws: true } },
  },
  // All files share a process and its modules: importing MUI and React for each of them would take longer than the tests.
  // The timeout is for a machine that is busy with other tests.
  test: { include: ["src/**/*.test.{ts,tsx}"], environment: "happy-dom", setupFiles: ["src/test-setup.ts"], isolate: false, restoreMocks: true, unstubGlobals: true, testTimeout: 60_000 },
});
