import { parse } from "yaml";
import { expect, test } from "vitest";
import { alertmanagerSnippet, curlSnippet } from "./snippets";
import { after, needsCode, readStep, STEPS } from "./steps";

test("a snippet has the true address, and a token where one is needed", () => {
  expect(curlSnippet({ url: "http://127.0.0.1:8080", token: null })).not.toContain("Authorization");
  const curl = curlSnippet({ url: "https://tarsy.example.com", token: "it's" });
  expect(curl).toContain("'https://tarsy.example.com/api/v1/alerts'");
  expect(curl).toContain(`'Authorization: Bearer it'\\''s'`);
});

test("the Alertmanager snippet is YAML that names the webhook and the token", () => {
  const read = parse(alertmanagerSnippet({ url: "http://t:1", token: 'a"b: c' })) as { receivers: { webhook_configs: unknown[] }[] };
  expect(read.receivers[0]?.webhook_configs).toEqual([
    { url: "http://t:1/api/v1/webhook/alertmanager", send_resolved: true, http_config: { authorization: { credentials: 'a"b: c' } } },
  ]);
});

test("steps follow each other, and an unknown one is the first", () => {
  expect(readStep("nonsense")).toBe("model");
  expect(readStep("alert")).toBe("alert");
  expect(STEPS.map((step) => after(step.name))).toEqual(["tools", "sample", "alert", null]);
  expect(STEPS.filter((step) => needsCode(step.name)).map((step) => step.name)).toEqual(["model", "tools"]);
});
