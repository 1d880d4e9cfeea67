/** Says on every page what keeps alerts from being investigated. The rest of the warnings is on the System page. */
import Alert from "@mui/material/Alert";
import { useQuery } from "@tanstack/react-query";
import { warnings } from "@/api/system";
import { TextLink } from "@/components/links";
import type { WarningSource } from "@/wire/types";

// A tool server that is away, or a key that is not acted on, spoils no investigation as a whole.
const URGENT: ReadonlySet<WarningSource> = new Set(["workers", "queue", "model"]);

export function WarningBanner() {
  const { data } = useQuery(warnings);
  const [first, ...more] = (data?.warnings ?? []).filter((warning) => URGENT.has(warning.source));
  if (!first) return null;
  return (
    <Alert severity="warning" square role="status" sx={{ py: 0, alignItems: "center", overflowWrap: "anywhere" }}>
      {first.message} {more.length > 0 && `And ${more.length} more. `}
      <TextLink to="/system">System</TextLink>
    </Alert>
  );
}
