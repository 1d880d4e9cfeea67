/** Addresses and the pages behind them. All but the first are loaded when they are first visited, or when there is time. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { loadedLater } from "@/components/loaded-later";
import { Loading } from "@/components/states";
import { NotThere } from "@/components/way-on";
import type { IncidentSearch } from "@/features/incidents/search";
import { readIncidentSearch } from "@/features/incidents/search";
import type { SessionSearch } from "@/features/sessions/search";
import { readSearch } from "@/features/sessions/search";
import type { HomeSearch } from "./home-search";
import { readHomeSearch } from "./home-search";
import { HomeRoute } from "./home-route";
import { PageError } from "./page-away";
import type { SessionPageSearch } from "./session-search";
import { readSessionPageSearch } from "./session-search";
import { Shell } from "./shell";

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <NotThere what="page" />,
});

function optional(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: (raw: Record<string, unknown>): HomeSearch => readHomeSearch(raw),
  component: HomeRoute,
});

const incidents = createRoute({
  getParentRoute: () => root,
  path: "/incidents",
  validateSearch: (raw: Record<string, unknown>): IncidentSearch => readIncidentSearch(raw),
  component: lazyRouteComponent(loadedLater(() => import("./incidents-route")), "IncidentsRoute"),
});

const incident = createRoute({
  getParentRoute: () => root,
  path: "/incidents/$incidentId",
  component: lazyRouteComponent(loadedLater(() => import("./incident-route")), "IncidentRoute"),
});

const sessions = createRoute({
  getParentRoute: () => root,
  path: "/sessions",
  validateSearch: (raw: Record<string, unknown>): SessionSearch => readSearch(raw),
  component: lazyRouteComponent(loadedLater(() => import("./sessions-route")), "SessionsRoute"),
});

const session = createRoute({
  getParentRoute: () => root,
  path: "/sessions/$sessionId",
  validateSearch: (raw: Record<string, unknown>): SessionPageSearch => readSessionPageSearch(raw),
  component: lazyRouteComponent(loadedLater(() => import("./session-route")), "SessionRoute"),
});

const trace = createRoute({
  getParentRoute: () => root,
  path: "/sessions/$sessionId/trace",
  validateSearch: (raw: Record<string, unknown>): { call?: string } => {
    const call = optional(raw["call"]);
    return call ? { call } : {};
  },
  component: lazyRouteComponent(loadedLater(() => import("./trace-route")), "TraceRoute"),
});

const compare = createRoute({
  getParentRoute: () => root,
  path: "/sessions/$sessionId/compare",
  validateSearch: (raw: Record<string, unknown>): { with?: string } => {
    const other = optional(raw["with"]);
    return other ? { with: other } : {};
  },
  component: lazyRouteComponent(() => import("./compare-route"), "CompareRoute"),
});

const newAlert = createRoute({
  getParentRoute: () => root,
  path: "/alerts/new",
  validateSearch: (raw: Record<string, unknown>): { from?: string } => {
    const from = optional(raw["from"]);
    return from ? { from } : {};
  },
  component: lazyRouteComponent(loadedLater(() => import("./new-alert-route")), "NewAlertRoute"),
});

const system = createRoute({
  getParentRoute: () => root,
  path: "/system",
  component: lazyRouteComponent(loadedLater(() => import("./system-route")), "SystemRoute"),
});

const usage = createRoute({
  getParentRoute: () => root,
  path: "/usage",
  component: lazyRouteComponent(loadedLater(() => import("./usage-route")), "UsageRoute"),
});

const setup = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  validateSearch: (raw: Record<string, unknown>): { step?: string } => {
    const step = optional(raw["step"]);
    return step ? { step } : {};
  },
  component: lazyRouteComponent(loadedLater(() => import("./setup-route")), "SetupRoute"),
});

export const router = createRouter({
  routeTree: root.addChildren([home, incidents, incident, sessions, session, trace, compare, newAlert, usage, system, setup]),
  defaultPreload: "intent",
  defaultErrorComponent: ({ error }) => <PageError error={error} />,
  defaultPendingComponent: () => <Loading what="the page" />,
  scrollRestoration: true,
});

/** Loads the pages that are not there yet, so that a server that goes away takes none of them along. What fails is tried again the next time. */
export function loadPages(): void {
  // What is loaded before is what the first page needs itself.
  performance.mark("load-pages");
  for (const route of Object.values(router.routesById)) {
    const component = route.options.component as { preload?: () => Promise<unknown> } | undefined;
    void component?.preload?.();
  }
  for (const load of [() => import("@/components/rich-text"), () => import("./palette"), () => import("./shortcut-help")]) load().catch(() => undefined);
}

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
