import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useRef } from "react";
import { expect, test, vi } from "vitest";
import { moveRowFocus } from "./links";
import { useShortcuts } from "./shortcuts";

const go = vi.fn();
const alone = vi.fn();
const palette = vi.fn();
const help = vi.fn();

function Page() {
  useShortcuts({ i: alone, "?": help });
  useShortcuts({ "g i": go, "Control+k": palette }, { capture: true });
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

test("a sign is a shortcut with and without Shift, and one with Ctrl also works in a field", async () => {
  render(<Page />);
  await userEvent.keyboard("?{Shift>}?{/Shift}");
  expect(help).toHaveBeenCalledTimes(2);
  await userEvent.type(screen.getByLabelText("Text"), "?{Control>}k{/Control}");
  expect(help).toHaveBeenCalledTimes(2);
  expect(palette).toHaveBeenCalledTimes(1);
});

function List() {
  const list = useRef<HTMLUListElement>(null);
  useShortcuts({ j: () => moveRowFocus(list.current, 1) });
  return (
    <ul ref={list}>
      {["one", "two", "three"].map((name) => (
        <li key={name}>
          <input type="checkbox" aria-label={`Select ${name}`} />
          <a href={`#${name}`} data-row-link>
            {name}
          </a>
        </li>
      ))}
    </ul>
  );
}

test("shortcuts work on a row that was just ticked, and go on from it", async () => {
  render(<List />);
  await userEvent.click(screen.getByRole("checkbox", { name: "Select two" }));
  await userEvent.keyboard("j");
  expect(document.activeElement?.textContent).toBe("three");
});
