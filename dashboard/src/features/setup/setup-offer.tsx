/** On an empty installation: the way to set it up. */
import Alert from "@mui/material/Alert";
import { useQuery } from "@tanstack/react-query";
import { setup } from "@/api/setup";
import { LinkButton } from "@/components/links";

export function SetupOffer() {
  const { data } = useQuery({ ...setup, retry: false });
  if (!data?.needed) return null;
  const action = (
    <LinkButton to="/setup" search={{}} size="small" variant="contained" sx={{ whiteSpace: "nowrap" }}>
      Set up TARSy
    </LinkButton>
  );
  return (
    // On a phone the button stands below the words: beside them it would leave no room for either.
    <Alert severity="info" variant="outlined" action={action} sx={{ mb: 2, alignItems: "center", flexWrap: { xs: "wrap", sm: "nowrap" }, "& .MuiAlert-message": { flex: 1 }, "& .MuiAlert-action": { flexBasis: { xs: "100%", sm: "auto" }, justifyContent: "flex-end" } }}>
      New here? Choose a model, connect a cluster and send a first alert in four short steps. A sample incident needs none of them.
    </Alert>
  );
}
