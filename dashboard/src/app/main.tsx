/** The entry: creates everything that exists once per page. */
import createCache from "@emotion/cache";
import { CacheProvider } from "@emotion/react";
import { ThemeProvider } from "@mui/material/styles";
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError, shouldRetry } from "@/api/client";
import { me } from "@/api/system";
import { LazyImportError } from "@/components/states";
import { ProseStyles } from "@/components/text-styles";
import { LiveProvider } from "@/live/connection";
import { LiveSocket } from "@/live/socket";
import { LoginGate } from "./gate";
import { preloadPages, router } from "./router";
import { PageStyles, theme } from "./theme";

// The content security policy allows only style elements with the nonce of this page.
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
const styles = createCache({ key: "t", nonce });

// An expired login: the refetched `me` is rejected too, and the login form is shown.
const onError = (error: unknown): void => {
  if (error instanceof ApiError && error.status === 401) void queries.invalidateQueries({ queryKey: me.queryKey });
};
const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  // "always": a browser that reports no network may reach the server, which may be on the same machine; and an action that could not be sent
  // fails, instead of being sent when the network is back.
  defaultOptions: { queries: { networkMode: "always", refetchOnReconnect: true, retry: shouldRetry, staleTime: 2_000, refetchOnWindowFocus: true }, mutations: { networkMode: "always" } },
});

const socket = new LiveSocket(`${window.location.protocol === "https:" ? "wss" : "ws"}://${window.location.host}/ws`);
const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root.");

createRoot(root, {
  // A script that cannot be loaded is an expected error, which the page shows.
  onCaughtError: (error) => {
    if (!(error instanceof LazyImportError)) console.error(error);
  },
}).render(
  <StrictMode>
    <CacheProvider value={styles}>
      <ThemeProvider theme={theme} defaultMode="system" noSsr>
        <PageStyles />
        <ProseStyles />
        <QueryClientProvider client={queries}>
          <LoginGate>
            <LiveProvider socket={socket}>
              <RouterProvider router={router} />
            </LiveProvider>
          </LoginGate>
        </QueryClientProvider>
      </ThemeProvider>
    </CacheProvider>
  </StrictMode>,
);

// The other pages are preloaded when the first one has finished loading.
const PRELOAD_AFTER_MS = 2_500;
const PRELOAD_RETRY_MS = 500;
function preloadWhenIdle(): void {
  if (queries.isFetching() > 0) setTimeout(preloadWhenIdle, PRELOAD_RETRY_MS);
  else preloadPages();
}
window.addEventListener("load", () => setTimeout(preloadWhenIdle, PRELOAD_AFTER_MS));
