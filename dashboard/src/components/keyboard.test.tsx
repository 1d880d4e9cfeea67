// @vitest-environment jsdom
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import { useKeyPairs, useShortcuts } from "./keyboard";

afterEach(cleanup);

const go = vi.fn();
const alone = vi.fn();

function Page() {
  useShortcuts({ i: alone });
  useKeyPairs({ "g i": go });
  return <input aria-label="Text" />;
}

test("two keys one after the other are one shortcut, and no letters of a text", async () => {
  render(<Page />);
  await userEvent.keyboard("gi");
  expect(go).toHaveBeenCalledTimes(1);
  expect(alone).not.toHaveBeenCalled();
  await userEvent.keyboard("xi");
  expect(alone).toHaveBeenCalledTimes(1);
  await userEvent.type(screen.getByLabelText("Text"), "gi");
  expect(go).toHaveBeenCalledTimes(1);
});
