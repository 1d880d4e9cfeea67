import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { channelOf, parseLiveMessage } from "./live-messages";

/** The messages that the server may send. The tests run in the directory of the dashboard. */
const schema = JSON.parse(readFileSync("../docs/live-events.schema.json", "utf8")) as {
  discriminator: { mapping: Record<string, string> };
};

test.each(Object.keys(schema.discriminator.mapping))("%s is understood", (type) => {
  expect(parseLiveMessage(JSON.stringify({ type }))).toEqual({ type });
});

test.each(['{"type": "from.the.future"}', '{"type": "constructor"}', '{"no": "type"}', '"text"', "null", '{"type": 7}'])("%s is left alone", (text) => {
  expect(parseLiveMessage(text)).toBeNull();
});

test("a message knows its channel, if it has one", () => {
  expect(channelOf({ type: "pong" })).toBeNull();
  expect(channelOf({ type: "subscription.confirmed", channel: "sessions", last_event_id: 1 })).toBe("sessions");
});
