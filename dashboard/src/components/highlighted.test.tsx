import { render } from "@testing-library/react";
import { expect, test } from "vitest";
import { Highlighted, searchWords } from "./highlighted";

test("the words of a search are marked, and only those that are searched for", () => {
  const { container } = render(<Highlighted text="Disk (full) on the node" words={searchWords('"disk (full)" -node')} />);
  expect([...container.querySelectorAll("mark")].map((mark) => mark.textContent)).toEqual(["Disk", "(full)"]);
  expect(container.textContent).toBe("Disk (full) on the node");
});

test("a line begins shortly before a match that would be cut off", () => {
  const { container } = render(<Highlighted text={`${"and so on ".repeat(20)}the disk is full`} words={["disk"]} around />);
  expect(container.textContent).toMatch(/^… .{0,60}disk is full$/);
});
