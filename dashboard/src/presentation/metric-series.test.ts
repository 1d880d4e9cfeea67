import { expect, test } from "vitest";
import { metricTable } from "./metric-series";

const pod = (name: string, ...values: [number, string][]) => ({ metric: { __name__: "up", namespace: "shop", pod: name }, values });

// As `execute_range_query` of pab1it0/prometheus-mcp-server returns it.
const PROMETHEUS_MCP = { resultType: "matrix", result: [pod("cart-1", [1_617_898_400, "1"], [1_617_898_415, "0"], [1_617_898_430, "0"])], links: [{ href: "http://prometheus/graph", rel: "prometheus-ui", title: "View in Prometheus UI" }] };
// As `query_prometheus` of grafana/mcp-grafana returns it: a matrix alone.
const GRAFANA_MCP = [pod("cart-1", [1_617_898_400.5, "0.25"]), pod("cart-2", [1_617_898_400.5, "0.5"])];
// As `metrics_query` of the sample incidents returns it.
const DEMO = `container_memory_working_set_bytes{namespace="shop",pod="cart-1"}  min=180.00 max=256.00 last=256.00
  2026-03-01T12:00:00Z  180.00
  2026-03-01T12:05:00Z  256.00
container_memory_working_set_bytes{namespace="shop",pod="cart-2"}  min=-1 max=3 last=3
  2026-03-01T12:00:00Z  -1
  2026-03-01T12:01:15Z  3`;

test("the matrix of prometheus-mcp-server is drawn", () => {
  expect(metricTable(JSON.stringify(PROMETHEUS_MCP, null, 2))).toEqual({
    title: 'up{namespace="shop", pod="cart-1"}',
    times: [1_617_898_400, 1_617_898_415, 1_617_898_430],
    series: [{ name: 'up{namespace="shop", pod="cart-1"}', values: [1, 0, 0] }],
    omitted: 0,
    thinnedFrom: null,
  });
});

test("the matrix of mcp-grafana is drawn, its series named by the label in which they differ", () => {
  const table = metricTable(JSON.stringify(GRAFANA_MCP));
  expect(table?.title).toBe('up{namespace="shop"}');
  expect(table?.series).toEqual([
    { name: "cart-1", values: [0.25] },
    { name: "cart-2", values: [0.5] },
  ]);
});

test("the listing of the sample incidents is drawn, each series through its own times", () => {
  const table = metricTable(DEMO);
  expect(table?.times.map((at) => new Date(at * 1_000).toISOString().slice(11, 19))).toEqual(["12:00:00", "12:01:15", "12:05:00"]);
  expect(table?.series).toEqual([
    { name: "cart-1", values: [180, undefined, 256] },
    { name: "cart-2", values: [-1, 3, undefined] },
  ]);
});

test("an answer of Prometheus is found in the text of MCP content, with times as ISO 8601 too", () => {
  const answer = { status: "success", data: { resultType: "matrix", result: [{ metric: {}, values: [["2021-04-08T16:14:08Z", "2"]] }] } };
  for (const wrapped of [answer, { content: [{ type: "text", text: JSON.stringify(answer) }] }, { result: JSON.stringify(answer) }]) {
    expect(metricTable(JSON.stringify(wrapped))?.series).toEqual([{ name: "Value", values: [2] }]);
  }
});

test("instant vectors, empty matrices and other texts are not drawn", () => {
  const vector = { resultType: "vector", result: [{ metric: { __name__: "up" }, value: [1_617_898_448.2, "1"] }] };
  const texts = [JSON.stringify(vector), '{"resultType":"matrix","result":[]}', '{"resultType":"matrix","result":[{"metric":{},"values":[]}]}', '{"values": [', "No series match. Series of up:", "", '{"items":[{"metric":1,"values":2}]}'];
  for (const text of texts) expect(metricTable(text)).toBeNull();
});

test("steps without a value are gaps, and what cannot be drawn is empty", () => {
  const values = [0, 60, 120, 300, 360].map((at): [number, string] => [at, at === 60 ? "NaN" : "1"]);
  const table = metricTable(JSON.stringify([pod("cart-1", ...values)]));
  expect(table?.times).toEqual([0, 60, 120, 180, 300, 360]);
  expect(table?.series[0]?.values).toEqual([1, null, 1, null, 1, 1]);
  const regular = Array.from({ length: 7 }, (_, index): [number, string] => [index * 60, "2"]);
  expect(metricTable(JSON.stringify([pod("cart-1", ...values), pod("cart-2", ...regular)]))?.series[0]?.values).toEqual([1, null, 1, null, null, 1, 1]);
});

test("of many series the first are drawn, and of many times the extremes", () => {
  const values = Array.from({ length: 11_000 }, (_, index): [number, string] => [index * 15, index === 7_777 ? "99" : "1"]);
  const table = metricTable(JSON.stringify(Array.from({ length: 15 }, (_, index) => pod(`cart-${index}`, ...values))));
  expect([table?.series.length, table?.omitted, table?.thinnedFrom]).toEqual([12, 3, 11_000]);
  expect(table?.times.length).toBeLessThanOrEqual(400);
  expect(table?.series.every((one) => one.values.length === table.times.length && Math.max(...one.values.map(Number)) === 99)).toBe(true);
  expect(table?.times.every((at, index) => index === 0 || at > (table.times[index - 1] ?? at))).toBe(true);
});
