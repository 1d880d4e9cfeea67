/** One field that leads anywhere: to sessions, incidents, pages and actions. */
import Box from "@mui/material/Box";
import Dialog from "@mui/material/Dialog";
import InputBase from "@mui/material/InputBase";
import { useColorScheme } from "@mui/material/styles";
import Typography from "@mui/material/Typography";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useDeferredValue, useEffect, useId, useRef, useState } from "react";
import { foundIncidents } from "@/api/incidents";
import { foundSessions } from "@/api/sessions";
import { copyText } from "@/components/clipboard";
import { ONE_LINE } from "@/components/text-styles";
import type { Item, Target } from "./palette-items";
import { paletteItems } from "./palette-items";

export default function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const items = useItems(typed);
  const go = useGo(onClose, onHelp);
  const current = Math.min(at, items.length - 1);
  const onKey = (event: React.KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((current + step + items.length) % Math.max(1, items.length));
    }
    const chosen = items[current];
    if (event.key === "Enter" && chosen && !event.nativeEvent.isComposing) {
      event.preventDefault();
      go(chosen.target);
    }
  };
  return (
    <Dialog open onClose={onClose} aria-label="Go to" fullWidth maxWidth="sm" slotProps={{ paper: { sx: { position: "absolute", top: { xs: 8, sm: "12vh" }, m: 1, width: "calc(100% - 16px)" } } }}>
      <Box sx={{ display: "flex", alignItems: "center", gap: 1, px: 2, py: 1, borderBottom: 1, borderColor: "divider" }}>
        <Search size={18} aria-hidden />
        <InputBase
          autoFocus
          fullWidth
          value={typed}
          placeholder="Sessions, incidents, pages, actions"
          onChange={(event) => {
            setTyped(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKey}
          inputProps={{ role: "combobox", "aria-label": "Go to", "aria-expanded": true, "aria-controls": id, "aria-activedescendant": `${id}-${current}`, "aria-autocomplete": "list" }}
        />
      </Box>
      <Box id={id} role="listbox" aria-label="Places and actions" sx={{ maxHeight: "56vh", overflowY: "auto", py: 0.5 }}>
        {items.map((item, index) => (
          <Option key={item.key} id={`${id}-${index}`} item={item} headed={item.group !== items[index - 1]?.group} current={index === current} onPoint={() => setAt(index)} onChoose={() => go(item.target)} />
        ))}
      </Box>
    </Dialog>
  );
}

function useItems(typed: string): Item[] {
  const text = useDeferredValue(typed.trim());
  const { sessionId: here } = useParams({ strict: false });
  const sessions = useQuery({ ...foundSessions(text), placeholderData: keepPreviousData });
  const incidents = useQuery({ ...foundIncidents(text), placeholderData: keepPreviousData });
  return paletteItems(typed, here, sessions.data?.sessions ?? [], incidents.data?.incidents ?? []);
}

function useGo(onClose: () => void, onHelp: () => void): (target: Target) => void {
  const navigate = useNavigate();
  const { mode, systemMode, setMode } = useColorScheme();
  const act = {
    theme: () => setMode((mode === "system" ? systemMode : mode) === "dark" ? "light" : "dark"),
    copy: () => void copyText(window.location.href),
    help: onHelp,
  };
  return (target) => {
    onClose();
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
        act[target.action]();
    }
  };
}

interface OptionProps {
  id: string;
  item: Item;
  /** Whether the name of its group stands above it. */
  headed: boolean;
  current: boolean;
  onPoint: () => void;
  onChoose: () => void;
}

function Option({ id, item, headed, current, onPoint, onChoose }: OptionProps) {
  const option = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (current) option.current?.scrollIntoView({ block: "nearest" });
  }, [current]);
  return (
    <>
      {headed && (
        <Typography variant="caption" color="textSecondary" role="presentation" sx={{ display: "block", px: 2, pt: 1, pb: 0.25 }}>
          {item.group}
        </Typography>
      )}
      <Box ref={option} id={id} role="option" aria-selected={current} onMouseMove={onPoint} onClick={onChoose} sx={{ display: "flex", gap: 1.5, alignItems: "baseline", px: 2, py: 0.75, cursor: "pointer", bgcolor: current ? "action.selected" : "transparent" }}>
        <Typography variant="body2" sx={{ ...ONE_LINE, flex: 1 }}>
          {item.label}
        </Typography>
        {(item.group === "Sessions" || item.group === "Incidents") && (
          <Typography variant="caption" color={current ? "textPrimary" : "textSecondary"} sx={{ ...ONE_LINE, maxWidth: "40%" }}>
            {item.hint}
          </Typography>
        )}
      </Box>
    </>
  );
}
