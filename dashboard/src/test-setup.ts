/** Setup of every test file. */
import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";

// For a machine that is busy with other tests.
configure({ asyncUtilTimeout: 30_000 });

// The files share a page.
afterEach(() => {
  cleanup();
  document.body.replaceChildren();
  localStorage.clear();
  sessionStorage.clear();
});
