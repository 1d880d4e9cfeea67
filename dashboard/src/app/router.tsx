/** Addresses and the pages behind them. All but the first are loaded when they are first visited. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { Failure, Loading, Nothing } from "@/components/states";
import type { IncidentSearch } from "@/features/incidents/search";
import { readIncidentSearch } from "@/features/incidents/search";
import type { SessionSearch } from "@/features/sessions/search";
import { readSearch } from "@/features/sessions/search";
import type { HomeSearch } from "./home-search";
import { readHomeSearch } from "./home-search";
import { HomeRoute } from "./home-route";
import type { SessionPageSearch } from "./session-search";
import { readSessionPageSearch } from "./session-search";
import { Shell } from "./shell";

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <Nothing title="There is no such page" />,
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
  component: lazyRouteComponent(() => import("./incidents-route"), "IncidentsRoute"),
});

const incident = createRoute({
  getParentRoute: () => root,
  path: "/incidents/$incidentId",
  component: lazyRouteComponent(() => import("./incident-route"), "IncidentRoute"),
});

const sessions = createRoute({
  getParentRoute: () => root,
  path: "/sessions",
  validateSearch: (raw: Record<string, unknown>): SessionSearch => readSearch(raw),
  component: lazyRouteComponent(() => import("./sessions-route"), "SessionsRoute"),
});

const session = createRoute({
  getParentRoute: () => root,
  path: "/sessions/$sessionId",
  validateSearch: (raw: Record<string, unknown>): SessionPageSearch => readSessionPageSearch(raw),
  component: lazyRouteComponent(() => import("./session-route"), "SessionRoute"),
});

const trace = createRoute({
  getParentRoute: () => root,
  path: "/sessions/$sessionId/trace",
  validateSearch: (raw: Record<string, unknown>): { call?: string } => {
    const call = optional(raw["call"]);
    return call ? { call } : {};
  },
  component: lazyRouteComponent(() => import("./trace-route"), "TraceRoute"),
});

const newAlert = createRoute({
  getParentRoute: () => root,
  path: "/alerts/new",
  validateSearch: (raw: Record<string, unknown>): { from?: string } => {
    const from = optional(raw["from"]);
    return from ? { from } : {};
  },
  component: lazyRouteComponent(() => import("./new-alert-route"), "NewAlertRoute"),
});

const system = createRoute({
  getParentRoute: () => root,
  path: "/system",
  component: lazyRouteComponent(() => import("./system-route"), "SystemRoute"),
});

const usage = createRoute({
  getParentRoute: () => root,
  path: "/usage",
  component: lazyRouteComponent(() => import("./usage-route"), "UsageRoute"),
});

export const router = createRouter({
  routeTree: root.addChildren([home, incidents, incident, sessions, session, trace, newAlert, usage, system]),
  defaultPreload: "intent",
  defaultErrorComponent: ({ error }) => <Failure what="The page could not be shown." error={error} onRetry={() => window.location.reload()} />,
  defaultPendingComponent: () => <Loading what="the page" />,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
