// Writes src/wire/schema.ts from the server's OpenAPI document; with --check, says whether it is current.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const root = new URL("../../", import.meta.url);
const target = new URL("../src/wire/schema.ts", import.meta.url);
const venv = new URL(".venv/bin/python", root).pathname;
const python = existsSync(venv) ? venv : "python3";

const document = execFileSync(python, ["-m", "tarsy.api.openapi"], { cwd: root, maxBuffer: 64 * 1024 * 1024 });
const types = astToString(await openapiTS(document.toString(), { rootTypes: false }));
const text = `// Generated from the OpenAPI document by \`npm run types\`. Do not edit.\n\n${types}`;

if (!process.argv.includes("--check")) {
  writeFileSync(target, text);
} else if (readFileSync(target, "utf8") !== text) {
  console.error("src/wire/schema.ts does not match the server's OpenAPI document: run `npm run types` and commit the result.");
  process.exit(1);
}
