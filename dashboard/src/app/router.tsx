/** The routes: paths, search parameters and pages. All pages but the home page and the sessions are loaded on their first visit, or when the browser is idle. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { given, textParam } from "@/components/search-params";
import { lazyImport, Loading, NotFound } from "@/components/states";
import { loadRichText } from "@/components/use-rich-text";
import { readAuditSearch } from "@/features/audit/search";
import { readIncidentSearch } from "@/features/incidents/search";
import { readSessionSearch } from "@/features/sessions/search";
import { SessionsPage } from "@/features/sessions/sessions-page";
import { HomePage } from "./home-page";
import { PageError } from "./page-error";
import { readHomeSearch, readSessionPageSearch } from "./search";
import { Shell } from "./shell";

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <NotFound what="page" />,
});

/** Validates a search of one optional text parameter. */
function oneParam<Key extends string>(key: Key) {
  return (raw: Record<string, unknown>): Partial<Record<Key, string>> => given(key, textParam(raw[key]));
}

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: readHomeSearch,
  component: HomePage,
});

const incidents = createRoute({
  getParentRoute: () => root,
  path: "/incidents",
  validateSearch: readIncidentSearch,
  component: lazyRouteComponent(lazyImport(() => import("@/features/incidents/incidents-page")), "IncidentsPage"),
});

const incident = createRoute({
  getParentRoute: () => root,
  path: "/incidents/$incidentId",
  component: lazyRouteComponent(lazyImport(() => import("@/features/incident-detail/incident-page")), "IncidentPage"),
});

const sessions = createRoute({
  getParentRoute: () => root,
  path: "/sessions",
  validateSearch: readSessionSearch,
  component: SessionsPage,
});

const session = createRoute({
  getParentRoute: () => root,
  path: "/sessions/$sessionId",
  validateSearch: readSessionPageSearch,
  component: lazyRouteComponent(lazyImport(() => import("@/features/session-detail/session-page")), "SessionPage"),
});

const trace = createRoute({
  getParentRoute: () => root,
  path: "/sessions/$sessionId/trace",
  validateSearch: oneParam("call"),
  component: lazyRouteComponent(lazyImport(() => import("@/features/trace/trace-page")), "TracePage"),
});

const compare = createRoute({
  getParentRoute: () => root,
  path: "/sessions/$sessionId/compare",
  validateSearch: oneParam("with"),
  component: lazyRouteComponent(lazyImport(() => import("@/features/compare/compare-page")), "ComparePage"),
});

const newAlert = createRoute({
  getParentRoute: () => root,
  path: "/alerts/new",
  validateSearch: oneParam("from"),
  component: lazyRouteComponent(lazyImport(() => import("@/features/alerts/new-alert-page")), "NewAlertPage"),
});

const system = createRoute({
  getParentRoute: () => root,
  path: "/system",
  component: lazyRouteComponent(lazyImport(() => import("@/features/system/system-page")), "SystemPage"),
});

const approvals = createRoute({
  getParentRoute: () => root,
  path: "/approvals",
  component: lazyRouteComponent(lazyImport(() => import("@/features/approvals/approvals-page")), "ApprovalsPage"),
});

const reviews = createRoute({
  getParentRoute: () => root,
  path: "/reviews",
  component: lazyRouteComponent(lazyImport(() => import("@/features/reviews/reviews-page")), "ReviewsPage"),
});

const usage = createRoute({
  getParentRoute: () => root,
  path: "/usage",
  component: lazyRouteComponent(lazyImport(() => import("@/features/usage/usage-page")), "UsagePage"),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: "/audit",
  validateSearch: readAuditSearch,
  component: lazyRouteComponent(lazyImport(() => import("@/features/audit/audit-page")), "AuditPage"),
});

const notifications = createRoute({
  getParentRoute: () => root,
  path: "/notifications",
  component: lazyRouteComponent(lazyImport(() => import("@/features/notifications/notifications-page")), "NotificationsPage"),
});

const setup = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  validateSearch: oneParam("step"),
  component: lazyRouteComponent(lazyImport(() => import("@/features/setup/setup-page")), "SetupPage"),
});

export const router = createRouter({
  routeTree: root.addChildren([home, incidents, incident, sessions, session, trace, compare, newAlert, approvals, reviews, usage, notifications, system, audit, setup]),
  defaultPreload: "intent",
  // A page holds no state of another session or incident.
  defaultRemountDeps: ({ params }) => params,
  defaultErrorComponent: ({ error }) => <PageError error={error} />,
  defaultPendingComponent: () => <Loading what="the page" />,
  scrollRestoration: true,
});

/** Loads the pages that were not visited yet, so that they can be opened while the server is away. A failed import is repeated on the visit. */
export function preloadPages(): void {
  // The browser tests measure what the first page loads by itself: everything before this mark.
  performance.mark("load-pages");
  for (const route of Object.values(router.routesById)) {
    const component = route.options.component as { preload?: () => Promise<unknown> } | undefined;
    void component?.preload?.();
  }
  loadRichText();
  for (const load of [() => import("./palette"), () => import("./shortcut-help")]) load().catch(() => undefined);
}

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
