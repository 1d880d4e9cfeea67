import { describe, expect, test } from "vitest";
import { placeOf, surroundings, wordsIn } from "./evidence-place";

const LOG = "😀 one\ntwo\nno   space left\non device\nfive\nsix\nseven";

describe("where quoted words stand", () => {
  test("the server counts characters, of which an emoji is one", () => {
    const place = placeOf(LOG, { found_start: 6, found_end: 9, nearest: "" });
    expect(place && LOG.slice(place.start, place.end)).toBe("two");
  });

  test("words that are not there are shown by the line most like them", () => {
    expect(placeOf(LOG, { found_start: null, found_end: null, nearest: "five" })).toEqual({ start: 37, end: 41 });
    expect(placeOf(LOG, { found_start: null, found_end: null, nearest: "" })).toBeNull();
  });

  test("a place beyond the text is none: the words stand in what was folded", () => {
    expect(placeOf("short", { found_start: 90, found_end: 99, nearest: "" })).toBeNull();
  });

  test("words that were not checked are found whatever the white space between them", () => {
    const place = wordsIn(LOG, "no space left on device");
    expect(place && LOG.slice(place.start, place.end)).toBe("no   space left\non device");
    expect(wordsIn(LOG, "(.*)")).toBeNull();
  });

  test("a few lines around them are shown, and cut lines say so", () => {
    expect(surroundings(LOG, { start: 37, end: 41 })).toEqual({ before: "no   space left\non device\n", words: "five", after: "\nsix\nseven" });
    const long = surroundings("x".repeat(999), { start: 500, end: 501 });
    expect(long.before.startsWith("…x")).toBe(true);
    expect(long.after.endsWith("x…")).toBe(true);
  });
});
