/** Says before an alert is written that none could be investigated, and where that is changed. */
import Alert from "@mui/material/Alert";
import Link from "@mui/material/Link";

export function NoModel() {
  return (
    <Alert severity="warning" variant="outlined" role="status" sx={{ py: 0, alignItems: "center" }}>
      No model is configured, so alerts of this type are refused. <Link href="/help/models.md">Set up a model</Link>
    </Alert>
  );
}
