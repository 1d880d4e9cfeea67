import { expect, test } from "vitest";
import { linkParts } from "./data-line";

const links = (text: string) => linkParts(text).flatMap(({ href, host }) => (href === null ? [] : [[href, host]]));

test("addresses of the web become links, and the text around them stays", () => {
  const text = 'see "https://grafana.example/d/1?x=a&b=1", (http://run.book/a). ok';
  expect(linkParts(text).map((part) => part.text).join("")).toBe(text);
  expect(links(text)).toEqual([
    ["https://grafana.example/d/1?x=a&b=1", "grafana.example"],
    ["http://run.book/a", "run.book"],
  ]);
});

test("nothing else becomes one", () => {
  expect(links("javascript:alert(1) data:text/html,x ftp://a.b file:///etc/passwd //evil.example www.example.com https://")).toEqual([]);
});

test("an address that is made to be taken for another is left alone", () => {
  expect(links("https://bank.example@evil.example/ https://a:b@c.example")).toEqual([]);
  // Letters that look like others are shown for what they are.
  expect(links("https://ехample.com/")).toEqual([["https://ехample.com/", "xn--ample-ywe6i.com"]]);
});

test("an address of many full stops is split at once", () => {
  const address = `http://a/${".".repeat(1_000_000)}b`;
  expect(linkParts(`${address}...`).map(({ text }) => text)).toEqual([address, "..."]);
});
