/** For readers who came to a place where there is nothing: ways to places where there is something. */
import Stack from "@mui/material/Stack";
import { LinkButton } from "./links";
import { Nothing } from "./states";

const WAYS = (
  <Stack direction="row" sx={{ justifyContent: "center", gap: 1, flexWrap: "wrap" }}>
    <LinkButton variant="contained" to="/sessions" search={{}}>
      All sessions
    </LinkButton>
    <LinkButton variant="outlined" to="/incidents" search={{}}>
      Incidents
    </LinkButton>
    <LinkButton to="/alerts/new" search={{}}>
      New alert
    </LinkButton>
  </Stack>
);

/** `what` it is that the address names. */
export function NotThere({ what }: { what: "session" | "incident" | "page" }) {
  return (
    <Nothing title={`There is no such ${what}`} action={WAYS}>
      {what === "page" ? "The address may be mistyped, or from another version." : "It was deleted, or the address is not complete."}
    </Nothing>
  );
}
