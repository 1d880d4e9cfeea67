import { expect, test } from "vitest";
import { parse } from "yaml";
import type { RecipeItem } from "@/wire/types";
import { alertmanagerSnippet, curlSnippet } from "./alert-step";
import { isDone, needsCode, nextStep, readStep, STEPS, titleOf } from "./setup-page";

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

interface Route {
  receiver?: string;
  matches?: string;
  continue?: boolean;
  routes?: Route[];
}

/** The receivers of an alert, as Alertmanager finds them. */
function notified(route: Route, alert: string): string[] {
  const found: string[] = [];
  for (const child of route.routes ?? []) {
    if (child.matches !== undefined && child.matches !== alert) continue;
    found.push(...notified(child, alert));
    if (!child.continue) break;
  }
  return found.length > 0 ? found : [route.receiver ?? "none"];
}

test("merged into a configuration that pages, the Alertmanager snippet adds TARSy and redirects nothing", () => {
  const { route } = parse(alertmanagerSnippet({ url: "http://t:1", token: null }).replace("YOUR_DEFAULT_RECEIVER", "pager")) as { route: Route };
  const own: Route = { receiver: "pager", routes: [{ receiver: "dba", matches: "database" }] };
  const [first, last] = route.routes ?? [];
  const merged: Route = { ...own, ...route, routes: [first ?? {}, ...(own.routes ?? []), last ?? {}] };
  expect(notified(merged, "database")).toEqual(["tarsy", "dba"]);
  expect(notified(merged, "disk")).toEqual(["tarsy", "pager"]);
  // Pasted over the root route, there is no receiver at the root, which Alertmanager refuses.
  expect(route.receiver).toBeUndefined();
});

test("steps follow each other, and an unknown one is the first", () => {
  expect(readStep("nonsense")).toBe("model");
  expect(readStep("alert")).toBe("alert");
  expect(STEPS.map((step) => nextStep(step.name))).toEqual(["tools", "sample", "alert", null]);
  expect(STEPS.filter((step) => needsCode(step.name)).map((step) => step.name)).toEqual(["model", "tools"]);
});

test("a step is done when a model is in use, and when all fields of one system are set", () => {
  const recipe = (...set: boolean[]) => ({ fields: set.map((is_set) => ({ is_set })) }) as RecipeItem;
  const done = (model: string | null, ...recipes: RecipeItem[]) => STEPS.filter((step) => isDone(step.name, { model, recipes })).map((step) => step.name);
  expect(done(null, recipe(false), recipe(true, false))).toEqual([]);
  expect(done("local (qwen3:8b)", recipe(false))).toEqual(["model"]);
  expect(done(null, recipe(false), recipe(true, true))).toEqual(["tools"]);
  expect(titleOf("sample")).toBe("Run a sample");
});
