/** The targets of notifications, and the last notifications with their errors. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CircleCheck, CircleX, Clock, TimerOff } from "lucide-react";
import { useState } from "react";
import { notifications, sendAgain, testTarget } from "@/api/notifications";
import type { BadgeStyle } from "@/components/badge";
import { Badge } from "@/components/badge";
import { plural } from "@/components/format";
import { TextLink } from "@/components/links";
import { usePageTitle } from "@/components/page";
import { Section } from "@/components/section";
import { Failure, Loaded, Nothing } from "@/components/states";
import { RelativeTime } from "@/components/times";
import { Toggles } from "@/components/toggles";
import { Allowed } from "@/presentation/allowed";
import type { NotificationItem, NotificationStatus, NotificationTarget } from "@/wire/types";

const STATUSES = {
  pending: { label: "Pending", tone: "neutral", icon: Clock },
  delivered: { label: "Delivered", tone: "good", icon: CircleCheck },
  dead_letter: { label: "Dead letter", tone: "bad", icon: CircleX },
  expired: { label: "Expired", tone: "warning", icon: TimerOff },
} satisfies Record<NotificationStatus, BadgeStyle>;

const FILTERS: Record<NotificationStatus | "all", string> = { all: "All", pending: STATUSES.pending.label, delivered: STATUSES.delivered.label, dead_letter: STATUSES.dead_letter.label, expired: STATUSES.expired.label };

const EVENTS: Record<NotificationItem["kind"], string> = { started: "Started", verdict: "Verdict", failed: "Failed", waiting: "Waiting", budget: "Waiting for budget", decided: "Call decided", answered: "Question answered", resolved: "Resolved" };

const ROW = { display: "grid", columnGap: 2, rowGap: 0.25, alignItems: "center", px: 2, py: 1, borderTop: 1, borderColor: "divider", "&:first-of-type": { borderTop: 0 } } as const;

export function NotificationsPage() {
  usePageTitle("Notifications");
  const [status, setStatus] = useState<NotificationStatus>();
  const filter = <Toggles label="Status" options={FILTERS} value={status ?? "all"} onValue={(chosen) => setStatus(chosen === "all" ? undefined : chosen)} sx={{ px: { xs: 0.45, sm: 1 }, py: 0.25, whiteSpace: "nowrap" }} />;
  const query = useQuery({ ...notifications(status ? { status } : {}), placeholderData: keepPreviousData });
  return (
    <Stack spacing={2}>
      <Typography variant="h1">Notifications</Typography>
      <Loaded query={query} what="the notifications" failure="The notifications could not be loaded.">
        {(data) =>
          data.targets.length === 0 ? (
            <Nothing title="No targets are configured" action={<Button href="/help/notifications.md">Set up notifications</Button>}>
              Targets and rules are in the section <code>notify</code> of tarsy.yaml.
            </Nothing>
          ) : (
            <>
              <Section title="Targets" flush>
                <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
                  {data.targets.map((target) => (
                    <Target key={target.name} target={target} />
                  ))}
                </Box>
              </Section>
              <Section title="Last notifications" actions={filter} flush>
                {data.notifications.length === 0 ? (
                  <Nothing title="No notifications" />
                ) : (
                  <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
                    {data.notifications.map((item) => (
                      <Notification key={item.id} item={item} />
                    ))}
                  </Box>
                )}
              </Section>
            </>
          )
        }
      </Loaded>
    </Stack>
  );
}

function Target({ target }: { target: NotificationTarget }) {
  const test = useMutation({ mutationFn: () => testTarget(target.name) });
  const result = test.data;
  return (
    <Box component="li" sx={{ ...ROW, gridTemplateColumns: { xs: "minmax(0, 1fr) auto", sm: "180px minmax(0, 1fr) auto" } }}>
      <Typography variant="body2" sx={{ fontWeight: 600, overflowWrap: "anywhere" }}>
        {target.name}
        <Typography component="span" variant="caption" color="textSecondary" sx={{ ml: 1 }}>
          {target.service ?? "no longer configured"}
        </Typography>
      </Typography>
      <Typography variant="body2" sx={{ order: { xs: 1, sm: 0 }, gridColumn: { xs: "1 / -1", sm: "auto" }, overflowWrap: "anywhere" }}>
        {countsOf(target)}
        {target.last_error && (
          <Typography component="span" variant="body2" color="error" sx={{ display: "block" }}>
            Last error: {target.last_error}
          </Typography>
        )}
      </Typography>
      {target.service && (
        <Allowed operation="testNotificationTarget">
          <Button size="small" variant="outlined" loading={test.isPending} aria-label={`Test ${target.name}`} onClick={() => test.mutate()}>
            Test
          </Button>
        </Allowed>
      )}
      {(result ?? test.error) && (
        <Alert severity={result?.delivered ? "success" : "error"} role="status" sx={{ gridColumn: "1 / -1" }}>
          {result?.delivered ? `${target.name} has accepted a sample message.` : `Not delivered: ${result?.error ?? test.error?.message ?? ""}`}
        </Alert>
      )}
    </Box>
  );
}

export function countsOf(target: NotificationTarget): string {
  const counts = [
    [target.delivered, "delivered"],
    [target.pending, "pending"],
    [target.dead_letter, target.dead_letter === 1 ? "dead letter" : "dead letters"],
    [target.expired, "expired"],
  ] as const;
  const shown = counts.filter(([count]) => count > 0).map(([count, name]) => `${count.toLocaleString("en")} ${name}`);
  return shown.length > 0 ? shown.join(", ") : "nothing sent yet";
}

function Notification({ item }: { item: NotificationItem }) {
  const client = useQueryClient();
  const again = useMutation({ mutationFn: () => sendAgain(item.id), onSuccess: () => client.invalidateQueries({ queryKey: ["notifications"] }) });
  const isGivenUp = item.status === "dead_letter" || item.status === "expired";
  return (
    <Box component="li" sx={{ ...ROW, gridTemplateColumns: { xs: "minmax(0, 1fr) auto", sm: "130px minmax(0, 1fr) auto 104px" } }}>
      <Typography variant="body2" component="div">
        <Badge badge={STATUSES[item.status]} />
      </Typography>
      <Box sx={{ minWidth: 0, order: { xs: 1, sm: 0 }, gridColumn: { xs: "1 / -1", sm: "auto" } }}>
        <Subject item={item} />
        <Typography variant="caption" color="textSecondary" component="div" sx={{ overflowWrap: "anywhere" }}>
          {[EVENTS[item.kind], item.target, item.rule, item.attempts > 0 && plural(item.attempts, "failed attempt")].filter(Boolean).join(" · ")}
        </Typography>
        {item.error && (
          <Typography variant="body2" color="error" sx={{ overflowWrap: "anywhere" }}>
            {item.error}
          </Typography>
        )}
        {again.error && <Failure what="It was not sent again." error={again.error} />}
      </Box>
      <Typography variant="caption" color="textSecondary">
        <RelativeTime at={item.delivered_at ?? item.created_at} />
      </Typography>
      {isGivenUp && (
        <Box sx={{ order: { xs: 1, sm: 0 }, gridColumn: { xs: "1 / -1", sm: "auto" }, justifySelf: { sm: "end" }, my: { xs: 0.5, sm: 0 } }}>
          <Allowed operation="sendNotificationAgain">
            <Button size="small" variant="outlined" loading={again.isPending} onClick={() => again.mutate()} sx={{ whiteSpace: "nowrap" }}>
              Send again
            </Button>
          </Allowed>
        </Box>
      )}
    </Box>
  );
}

function Subject({ item }: { item: NotificationItem }) {
  if (item.session_id)
    return (
      <TextLink variant="body2" to="/sessions/$sessionId" params={{ sessionId: item.session_id }}>
        {item.title}
      </TextLink>
    );
  if (item.incident_id)
    return (
      <TextLink variant="body2" to="/incidents/$incidentId" params={{ incidentId: item.incident_id }}>
        {item.title}
      </TextLink>
    );
  return <Typography variant="body2">{item.title}</Typography>;
}
