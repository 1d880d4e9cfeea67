import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env["TARSY_URL"] ?? "http://127.0.0.1:8080";
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": here("./src") } },
  // The server puts the nonce of each answer here; styles are accepted with it only.
  html: { cspNonce: "__CSP_NONCE__" },
  build: {
    outDir: here("../src/tarsy/api/static"),
    emptyOutDir: true,
    // A data: address would need its own permission in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: true,
    chunkSizeWarningLimit: 700,
  },
  server: {
    proxy: { "/api": { target: server }, "/health": { target: server }, "/ws": { target: server, ws: true } },
  },
  test: { include: ["src/**/*.test.{ts,tsx}"], restoreMocks: true },
});
