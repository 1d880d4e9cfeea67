/** Series of metrics in the result of a tool: the matrix of a PromQL range query, and the listing of the sample incidents' `metrics_query`. */
import type { ChartSeries } from "@/components/chart-data";
import { isNumber } from "@/components/chart-data";

/** The series of one result, aligned by time. */
export interface MetricTable {
  /** The metric, with the labels that all series share. */
  title: string;
  /** Seconds since 1970. */
  times: readonly number[];
  /** Named by the labels in which they differ; a single one by the title. */
  series: readonly ChartSeries[];
  /** How many series the result has beyond these. */
  omitted: number;
  /** How many times the result has, if some are left out. */
  thinnedFrom: number | null;
}

type Labels = Readonly<Record<string, string>>;
interface MetricSeries {
  labels: Labels;
  samples: readonly (readonly [time: number, value: number | null])[];
}

// As many lines as a small chart has room for.
const MOST_SERIES = 12;
// About as many as a small chart has pixels, and few enough for a table.
const MOST_TIMES = 400;

/** The series of a tool's result; null if it has none. Instant vectors have no course to draw. */
export function metricTable(text: string): MetricTable | null {
  const listed = fromListing(text);
  const found = listed ?? fromJson(text, 0);
  const all = found?.filter(({ samples }) => samples.length > 0) ?? [];
  if (all.length === 0) return null;
  const shown = all.slice(0, MOST_SERIES);
  const { title, names } = describe(shown.map(({ labels }) => labels));
  // The listing has the corners of its lines only: the times between them are no gaps.
  const aligned = align(listed ? shown : shown.map(withGaps), names);
  return { title, omitted: all.length - shown.length, ...thinned(aligned.times, aligned.series) };
}

// Servers wrap a matrix in the answer of Prometheus, in their own object, in MCP content, and in text within that.
const DEEPEST = 10;

function fromJson(value: unknown, depth: number): MetricSeries[] | null {
  if (depth > DEEPEST) return null;
  if (typeof value === "string") {
    // Most results are no matrix: they are not parsed.
    if (!/^\s*[[{]/.test(value) || !value.includes("values")) return null;
    try {
      return fromJson(JSON.parse(value) as unknown, depth + 1);
    } catch {
      return null;
    }
  }
  if (Array.isArray(value)) {
    const items: unknown[] = value;
    const series = items.map(seriesOf).filter((one) => one !== null);
    if (series.length > 0) return series;
    return firstOf(items, depth);
  }
  if (typeof value !== "object" || value === null) return null;
  const { data, result, content, text } = value as Record<string, unknown>;
  return firstOf([data, result, content, text], depth);
}

function firstOf(values: readonly unknown[], depth: number): MetricSeries[] | null {
  for (const value of values) {
    const found = fromJson(value, depth + 1);
    if (found) return found;
  }
  return null;
}

function seriesOf(item: unknown): MetricSeries | null {
  if (typeof item !== "object" || item === null || !("metric" in item) || !("values" in item)) return null;
  const { metric, values } = item;
  if (typeof metric !== "object" || metric === null || !Array.isArray(values)) return null;
  const samples = (values as unknown[]).map(sampleOf).filter((sample) => sample !== null);
  return { labels: Object.fromEntries(Object.entries(metric).map(([label, value]) => [label, String(value)])), samples: samples.toSorted(([a], [b]) => a - b) };
}

// In seconds. Numbers beyond it are no times in seconds, and the largest of them are no dates at all.
const END_OF_YEAR_9999 = 253_402_300_800;

/** Prometheus gives times in seconds and values as strings; some servers write times as ISO 8601. */
function sampleOf(pair: unknown): [number, number | null] | null {
  if (!Array.isArray(pair) || pair.length !== 2) return null;
  const [at, value] = pair as unknown[];
  const time = typeof at === "number" ? at : typeof at === "string" ? Date.parse(at) / 1_000 : Number.NaN;
  const number = typeof value === "number" || typeof value === "string" ? Number(value) : Number.NaN;
  // "NaN", "+Inf" and "-Inf" cannot be drawn.
  return Math.abs(time) < END_OF_YEAR_9999 ? [time, Number.isFinite(number) ? number : null] : null;
}

const LISTED_SERIES = /^([A-Za-z_:][\w:]*)\{(.*)\}(?: {2}min=\S+ max=\S+ last=\S+)?$/;
const LISTED_SAMPLE = /^ {2}(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) {2}(-?\d+(?:\.\d+)?)$/;
const LABEL = /(\w+)="([^"]*)"/g;

function fromListing(text: string): MetricSeries[] | null {
  // The first line decides: a long log is not read to its end.
  if (!LISTED_SERIES.test(text.split("\n", 1)[0] ?? "")) return null;
  const series: { labels: Labels; samples: [number, number | null][] }[] = [];
  for (const line of text.split("\n")) {
    const head = LISTED_SERIES.exec(line);
    const sample = LISTED_SAMPLE.exec(line);
    if (head) series.push({ labels: listedLabels(head[1] ?? "", head[2] ?? ""), samples: [] });
    else if (sample) series.at(-1)?.samples.push([Date.parse(sample[1] ?? "") / 1_000, Number(sample[2])]);
  }
  return series;
}

function listedLabels(metric: string, text: string): Labels {
  const pairs = [...text.matchAll(LABEL)].map(([, label = "", value = ""]): [string, string] => [label, value]);
  return { __name__: metric, ...Object.fromEntries(pairs) };
}

/** What all series have in common, and how each differs from the others. */
function describe(all: readonly Labels[]): { title: string; names: string[] } {
  const keys = [...new Set(all.flatMap((labels) => Object.keys(labels)))];
  const shared = keys.filter((key) => all.every((labels) => labels[key] === all[0]?.[key]));
  const own = keys.filter((key) => !shared.includes(key));
  const metric = shared.includes("__name__") ? (all[0]?.["__name__"] ?? "") : "";
  const common = shared.filter((key) => key !== "__name__").map((key) => `${key}="${all[0]?.[key] ?? ""}"`);
  const title = `${metric}${common.length > 0 ? `{${common.join(", ")}}` : ""}` || "Value";
  const nameOf = (labels: Labels) => (own.length === 1 ? labels[own[0] ?? ""] : own.map((key) => `${key}=${labels[key] ?? ""}`).join(", "));
  return { title, names: all.map((labels) => nameOf(labels) || title) };
}

/** Adds an empty sample where the distance to the next is longer than usual: Prometheus leaves out the steps at which a series has no value. */
function withGaps({ labels, samples }: MetricSeries): MetricSeries {
  const distances = samples.slice(1).map(([at], index) => at - (samples[index]?.[0] ?? at));
  const usual = distances.toSorted((a, b) => a - b)[Math.floor(distances.length / 2)] ?? Infinity;
  return {
    labels,
    samples: samples.flatMap((sample, index) => ((distances[index] ?? 0) > 1.5 * usual ? [sample, [sample[0] + usual, null] as const] : [sample])),
  };
}

function align(all: readonly MetricSeries[], names: readonly string[]): Pick<MetricTable, "times" | "series"> {
  const times = [...new Set(all.flatMap(({ samples }) => samples.map(([at]) => at)))].toSorted((a, b) => a - b);
  const series = all.map(({ samples }, index) => {
    const byTime = new Map(samples);
    let last: number | null | undefined;
    // A gap lasts until the next sample, also at times that other series alone have.
    const values = times.map((at) => {
      const value = byTime.get(at);
      if (value !== undefined) last = value;
      return value ?? (last === null ? null : undefined);
    });
    return { name: names[index] ?? "", values };
  });
  return { times, series };
}

/** Keeps the lowest and the highest value of each stretch, in their order, so that no peak is lost. */
function thinned(times: readonly number[], series: readonly ChartSeries[]): Pick<MetricTable, "times" | "series" | "thinnedFrom"> {
  if (times.length <= MOST_TIMES) return { times, series, thinnedFrom: null };
  const length = Math.ceil((2 * times.length) / MOST_TIMES);
  const starts = Array.from({ length: Math.ceil(times.length / length) }, (_, index) => index * length);
  return {
    times: starts.flatMap((start) => [times[start] ?? 0, times[Math.min(start + length, times.length) - 1] ?? 0].slice(start === times.length - 1 ? 1 : 0)),
    series: series.map(({ name, values }) => ({ name, values: starts.flatMap((start) => extremes(values.slice(start, start + length))) })),
    thinnedFrom: times.length,
  };
}

/** One value of one, otherwise the lowest and the highest; null without any. */
function extremes(values: ChartSeries["values"]): (number | null | undefined)[] {
  if (values.length === 1) return [values[0]];
  const known = values.filter(isNumber);
  if (known.length === 0) return values.includes(null) ? [null, null] : [undefined, undefined];
  const [lowest, highest] = [Math.min(...known), Math.max(...known)];
  return known.indexOf(lowest) < known.indexOf(highest) ? [lowest, highest] : [highest, lowest];
}
