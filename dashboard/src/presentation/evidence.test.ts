import { describe, expect, test } from "vitest";
import { citedRange, excerpt, findQuote } from "./evidence";

const LOG = "😀 one\ntwo\nno   space left\non device\nfive\nsix\nseven";

describe("where quoted words stand", () => {
  test("the server counts characters, of which an emoji is one", () => {
    const place = citedRange({ text: LOG, folded: null }, { found_start: 6, found_end: 9, nearest: "" });
    expect(place && LOG.slice(place.start, place.end)).toBe("two");
  });

  test("words that are not there are shown by the line most like them", () => {
    expect(citedRange({ text: LOG, folded: null }, { found_start: null, found_end: null, nearest: "five" })).toMatchObject({ start: 37, end: 41 });
    expect(citedRange({ text: LOG, folded: null }, { found_start: null, found_end: null, nearest: "" })).toBeNull();
  });

  test("words of a fold are found in the form that the agent saw", () => {
    const seen = { text: "😀 a\na\na\na\na", folded: "😀 a\n[4 more lines]" };
    const place = citedRange(seen, { found_start: 17, found_end: 29, nearest: "" });
    expect(place?.isFolded).toBe(true);
    expect(place?.text.slice(place.start, place.end)).toBe("4 more lines");
    expect(findQuote(seen, "4 more lines")).toEqual(place);
    expect(citedRange({ ...seen, folded: null }, { found_start: 17, found_end: 29, nearest: "" })).toBeNull();
  });

  test("words that were not checked are found whatever the white space between them", () => {
    const place = findQuote({ text: LOG, folded: null }, "no space left on device");
    expect(place && LOG.slice(place.start, place.end)).toBe("no   space left\non device");
    expect(findQuote({ text: LOG, folded: null }, "(.*)")).toBeNull();
  });

  test("a few lines around them are shown, and cut lines say so", () => {
    expect(excerpt(LOG, { start: 37, end: 41 })).toEqual({ before: "no   space left\non device\n", words: "five", after: "\nsix\nseven" });
    const long = excerpt("x".repeat(999), { start: 500, end: 501 });
    expect(long.before.startsWith("…x")).toBe(true);
    expect(long.after.endsWith("x…")).toBe(true);
  });
});
