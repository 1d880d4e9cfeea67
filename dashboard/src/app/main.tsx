/** The entry: everything that exists once per page is made here. */
import createCache from "@emotion/cache";
import { CacheProvider } from "@emotion/react";
import { ThemeProvider } from "@mui/material/styles";
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { me } from "@/api/account";
import { ApiError, worthRetrying } from "@/api/client";
import { PartAwayError } from "@/components/loaded-later";
import { ProseStyles } from "@/components/prose";
import { LiveProvider, liveAddress } from "@/live/connection";
import { LiveSocket } from "@/live/socket";
import { Gate } from "./gate";
import { PageStyles } from "./page-styles";
import { loadPages, router } from "./router";
import { theme } from "./theme";

// The server accepts style elements with the nonce of this page only.
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
const styles = createCache({ key: "t", nonce });

const onError = (error: unknown): void => {
  if (error instanceof ApiError && error.status === 401) void queries.invalidateQueries({ queryKey: me.queryKey });
};
const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: { queries: { retry: worthRetrying, staleTime: 2_000, refetchOnWindowFocus: true } },
});

const socket = new LiveSocket(liveAddress(window.location));
const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root.");

// A part that cannot be loaded is told to the reader; what breaks otherwise, to the developer as well.
const onCaughtError = (error: unknown): void => {
  if (!(error instanceof PartAwayError)) console.error(error);
};

createRoot(root, { onCaughtError }).render(
  <StrictMode>
    <CacheProvider value={styles}>
      <ThemeProvider theme={theme} defaultMode="system" noSsr>
        <PageStyles />
        <ProseStyles />
        <QueryClientProvider client={queries}>
          <Gate>
            <LiveProvider socket={socket}>
              <RouterProvider router={router} />
            </LiveProvider>
          </Gate>
        </QueryClientProvider>
      </ThemeProvider>
    </CacheProvider>
  </StrictMode>,
);

// When the first page has come to rest: whatever it needs itself comes first.
const LOAD_PAGES_AFTER_MS = 2_500;
const AGAIN_AFTER_MS = 500;
function loadPagesInTime(): void {
  if (queries.isFetching() > 0) setTimeout(loadPagesInTime, AGAIN_AFTER_MS);
  else loadPages();
}
window.addEventListener("load", () => setTimeout(loadPagesInTime, LOAD_PAGES_AFTER_MS));
