import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { ConfirmDialog } from "./confirm-dialog";

test.each([true, false])("a click beside a dialog closes it unless it shows something once (closes outside: %s)", async (closesOutside) => {
  const onClose = vi.fn();
  render(<ConfirmDialog title="Copy it" text="Once." keep="Done" onClose={onClose} closesOutside={closesOutside} />);
  await userEvent.click(screen.getByRole("dialog").parentElement as HTMLElement);
  expect(onClose).toHaveBeenCalledTimes(closesOutside ? 1 : 0);
  await userEvent.keyboard("{Escape}");
  expect(onClose).toHaveBeenCalledTimes(closesOutside ? 2 : 1);
});
