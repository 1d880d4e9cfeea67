/** The last webhook requests that were refused or failed. */
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { refusedDeliveries } from "@/api/system";
import { Section } from "@/components/section";
import { Loaded } from "@/components/states";
import { RelativeTime } from "@/components/times";
import type { RefusedDeliveryItem } from "@/wire/types";

export function RefusedDeliveries() {
  return (
    <Loaded query={useQuery(refusedDeliveries)} failure="The refused deliveries could not be loaded.">
      {({ deliveries }) =>
        deliveries.length > 0 && (
          <Section title={`Refused deliveries (${deliveries.length})`} flush>
            <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0, maxHeight: 360, overflowY: "auto" }}>
              {deliveries.map((delivery, index) => (
                <RefusedDelivery key={index} delivery={delivery} />
              ))}
            </Box>
          </Section>
        )
      }
    </Loaded>
  );
}

function RefusedDelivery({ delivery }: { delivery: RefusedDeliveryItem }) {
  return (
    <Box component="li" sx={{ display: "grid", gridTemplateColumns: { xs: "1fr", md: "140px minmax(0, 1fr) auto" }, gap: { xs: 0.25, md: 2 }, px: 2, py: 1, borderTop: 1, borderColor: "divider", "&:first-of-type": { borderTop: 0 } }}>
      <Typography variant="body2" sx={{ overflowWrap: "anywhere" }}>
        {delivery.source}
      </Typography>
      <Typography variant="body2" sx={{ overflowWrap: "anywhere" }}>
        {delivery.detail}
      </Typography>
      <Typography variant="caption" color="textSecondary">
        {`${delivery.status} ${delivery.reason}, ${delivery.size.toLocaleString("en")} bytes${delivery.peer ? ` from ${delivery.peer}` : ""}, `}
        <RelativeTime at={delivery.at} />
      </Typography>
    </Box>
  );
}
