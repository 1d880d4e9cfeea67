/** The command palette: one field that finds sessions, incidents, pages and actions. */
import Box from "@mui/material/Box";
import Dialog from "@mui/material/Dialog";
import InputBase from "@mui/material/InputBase";
import { useColorScheme } from "@mui/material/styles";
import Typography from "@mui/material/Typography";
import useAutocomplete from "@mui/material/useAutocomplete";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Search } from "lucide-react";
import type { KeyboardEvent } from "react";
import { Fragment, useDeferredValue, useState } from "react";
import { foundIncidents } from "@/api/incidents";
import { foundSessions } from "@/api/sessions";
import { copyText } from "@/components/copy-button";
import { Highlighted, searchWords } from "@/components/highlighted";
import { ONE_LINE } from "@/components/text-styles";
import { RelativeTime } from "@/components/times";
import { StatusBadge } from "@/presentation/session-status";
import type { Item, Target } from "./palette-items";
import { paletteItems } from "./palette-items";

export default function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const [typed, setTyped] = useState("");
  // The item highlighted by pointer or keyboard; the first item is highlighted without either.
  const [moved, setMoved] = useState<Item | null>(null);
  const text = useDeferredValue(typed.trim());
  const { sessionId } = useParams({ strict: false });
  const sessions = useQuery({ ...foundSessions(text), placeholderData: keepPreviousData });
  const incidents = useQuery({ ...foundIncidents(text), placeholderData: keepPreviousData });
  const items = paletteItems(typed, sessionId, sessions.data?.sessions ?? [], incidents.data?.incidents ?? []);
  const highlighted = items.find(({ key }) => key === moved?.key) ?? items[0];
  const go = useGo(onHelp);
  const [notCopied, setNotCopied] = useState(false);
  const choose = (item: Item | undefined): void => {
    const target = item?.target;
    if (target?.kind === "copy") {
      // The palette stays open to say that it failed.
      void copyText(window.location.href).then((copied) => (copied ? onClose() : setNotCopied(true)));
      return;
    }
    onClose();
    if (target) go(target);
  };
  const { getRootProps, getInputProps, getListboxProps, getOptionProps } = useAutocomplete({
    open: true,
    autoHighlight: true,
    options: items,
    // The items are found already.
    filterOptions: (found) => found,
    getOptionLabel: (item) => item.key,
    value: null,
    inputValue: typed,
    onInputChange: (_, next, reason) => {
      if (reason !== "input") return;
      setTyped(next);
      setMoved(null);
    },
    onHighlightChange: (_, item) => setMoved(item),
    onChange: (_, item) => choose(item ?? undefined),
    onClose: (_, reason) => {
      if (reason === "escape") onClose();
    },
  });
  // Enter chooses the item that is shown as highlighted. When items arrive above it, such as those of a session whose page is still loading,
  // the library would choose the item that was highlighted before.
  const enter = (event: KeyboardEvent & { defaultMuiPrevented?: boolean }): void => {
    if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
    event.defaultMuiPrevented = true;
    choose(highlighted);
  };
  return (
    <Dialog open onClose={onClose} aria-label="Go to" fullWidth maxWidth="sm" slotProps={{ paper: { sx: { position: "absolute", top: { xs: 8, sm: "12vh" }, m: 1, width: "calc(100% - 16px)" } } }}>
      <Box {...getRootProps({ onKeyDown: enter })} sx={{ display: "flex", alignItems: "center", gap: 1, px: 2, py: 1, borderBottom: 1, borderColor: "divider" }}>
        <Search size={18} aria-hidden />
        <InputBase autoFocus fullWidth placeholder="Sessions, incidents, pages, actions" inputProps={{ ...getInputProps(), "aria-label": "Go to" }} />
      </Box>
      <Box component="ul" {...getListboxProps()} aria-labelledby={undefined} aria-label="Places and actions" sx={{ maxHeight: "56vh", overflowY: "auto", py: 0.5, px: 0, m: 0 }}>
        {items.map((item, index) => (
          <Fragment key={item.key}>
            {item.group !== items[index - 1]?.group && (
              <Typography component="li" variant="caption" color="textSecondary" role="presentation" sx={{ display: "block", px: 2, pt: 1, pb: 0.25 }}>
                {item.group}
              </Typography>
            )}
            <Box component="li" {...getOptionProps({ option: item, index })} key={item.key} aria-selected={item.key === highlighted?.key} sx={{ display: "flex", gap: 1.5, alignItems: "baseline", px: 2, py: 0.75, cursor: "pointer", "&[aria-selected=true]": { bgcolor: "action.selected" } }}>
              <Typography variant="body2" sx={{ ...ONE_LINE, flex: 1 }}>
                <Highlighted text={item.target.kind === "copy" && notCopied ? "Not copied" : item.label} words={item.found ? searchWords(text) : []} />
              </Typography>
              {item.found && <Found found={item.found} />}
            </Box>
          </Fragment>
        ))}
      </Box>
    </Dialog>
  );
}

/** The verdict and the date of a result. */
function Found({ found }: { found: NonNullable<Item["found"]> }) {
  const session = "status" in found ? found : found.last_session_status && { ...found, status: found.last_session_status, verdict: found.verdict_outcome && { outcome: found.verdict_outcome, confidence: found.verdict_confidence } };
  return (
    <Typography variant="caption" component="div" sx={{ display: "flex", gap: 1.5, alignItems: "center", whiteSpace: "nowrap", color: "text.secondary", "[aria-selected=true] > &": { color: "text.primary" } }}>
      {session && (
        <span>
          <StatusBadge session={session} />
        </span>
      )}
      <RelativeTime at={"created_at" in found ? found.created_at : found.opened_at} />
    </Typography>
  );
}

function useGo(onHelp: () => void): (target: Exclude<Target, { kind: "copy" }>) => void {
  const navigate = useNavigate();
  const { mode, systemMode, setMode } = useColorScheme();
  const actions = {
    theme: () => setMode((mode === "system" ? systemMode : mode) === "dark" ? "light" : "dark"),
    help: onHelp,
  };
  return (target) => {
    switch (target.kind) {
      case "session":
        return void navigate({ to: "/sessions/$sessionId", params: { sessionId: target.id } });
      case "incident":
        return void navigate({ to: "/incidents/$incidentId", params: { incidentId: target.id } });
      case "of-session":
        return void navigate({ to: target.to, params: { sessionId: target.id }, search: {} });
      case "again":
        return void navigate({ to: "/alerts/new", search: { from: target.id } });
      case "page":
        return void navigate({ to: target.to, search: {} });
      case "search":
        return void navigate({ to: "/sessions", search: { text: target.text } });
      case "document":
        window.location.assign(target.href);
        return;
      case "action":
        actions[target.action]();
    }
  };
}
