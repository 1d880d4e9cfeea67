/** The home page: incidents once a monitoring system has opened one, sessions before that. */
import Alert from "@mui/material/Alert";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { anyIncident } from "@/api/incidents";
import { setup } from "@/api/system";
import { LinkButton } from "@/components/links";
import { lazyImport, Loading } from "@/components/states";
import { SessionsPage } from "@/features/sessions/sessions-page";
import { isSessionSearch } from "./search";

const IncidentsPage = lazy(lazyImport(async () => ({ default: (await import("@/features/incidents/incidents-page")).IncidentsPage })));
const route = getRouteApi("/");

export function HomePage() {
  const showSessions = isSessionSearch(route.useSearch());
  const { data: any, isPending } = useQuery(anyIncident);
  if (isPending && !showSessions) return <Loading what="the page" />;
  if (showSessions || !any) {
    return (
      <>
        <SetupOffer />
        <SessionsPage />
      </>
    );
  }
  return (
    <Suspense fallback={<Loading what="incidents" />}>
      <IncidentsPage />
    </Suspense>
  );
}

/** Shown on an installation that is not set up. */
function SetupOffer() {
  const { data } = useQuery({ ...setup, retry: false });
  if (!data?.needed) return null;
  const action = (
    <LinkButton to="/setup" search={{}} size="small" variant="contained" sx={{ whiteSpace: "nowrap" }}>
      Set up TARSy
    </LinkButton>
  );
  return (
    // On a phone the button is below the text: side by side there is no room for either.
    <Alert severity="info" variant="outlined" action={action} sx={{ mb: 2, alignItems: "center", flexWrap: { xs: "wrap", sm: "nowrap" }, "& .MuiAlert-message": { flex: 1 }, "& .MuiAlert-action": { flexBasis: { xs: "100%", sm: "auto" }, justifyContent: "flex-end" } }}>
      New here? Choose a model, connect a cluster and send a first alert in four short steps. A sample incident needs none of them.
    </Alert>
  );
}
