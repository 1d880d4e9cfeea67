/** Sessions that the user watches: when one ends or waits, there is a notification and a mark on the tab. They are stored in the browser,
 * for other tabs and later visits. */
import IconButton from "@mui/material/IconButton";
import Tooltip from "@mui/material/Tooltip";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Bell, BellRing } from "lucide-react";
import { useEffect, useSyncExternalStore } from "react";
import { sessionDetail } from "@/api/sessions";
import { readStored, writeStored } from "@/components/storage";
import { useChannel } from "@/live/connection";
import { statusLabel } from "./session-status";

const KEY = "sessions:watched";
// Beyond this the oldest are dropped: a session that never ended here was deleted, or ended while no tab was open.
const LIMIT = 50;
const observers = new Set<() => void>();

function stored(): string {
  return readStored("localStorage", KEY) ?? "";
}

function isIn(ids: string, id: string): boolean {
  return ids.split(",").includes(id);
}

export function setWatched(id: string, watched: boolean): void {
  const others = stored().split(",").filter((other) => other !== "" && other !== id);
  writeStored("localStorage", KEY, (watched ? [...others, id] : others).slice(-LIMIT).join());
  for (const observer of observers) observer();
}

function observe(observer: () => void): () => void {
  observers.add(observer);
  window.addEventListener("storage", observer);
  return () => {
    observers.delete(observer);
    window.removeEventListener("storage", observer);
  };
}

export function WatchButton({ sessionId }: { sessionId: string }) {
  const watched = isIn(useSyncExternalStore(observe, stored), sessionId);
  const toggle = () => {
    setWatched(sessionId, !watched);
    // If the permission is denied, there is still the mark on the tab.
    if (!watched && "Notification" in window && Notification.permission === "default") void Notification.requestPermission();
  };
  return (
    <Tooltip title={watched ? "You are notified when it ends or waits" : "Notify me when it ends or waits"}>
      <IconButton size="small" aria-label="Notify me when it ends or waits" aria-pressed={watched} color={watched ? "primary" : "default"} onClick={toggle}>
        {watched ? <BellRing size={17} /> : <Bell size={17} />}
      </IconButton>
    </Tooltip>
  );
}

const ICON = "/icon.svg";
const MARKED_ICON = "/icon-news.svg";

function setTabIcon(icon: string): void {
  document.querySelector<HTMLLinkElement>("link[rel=icon]")?.setAttribute("href", icon);
}

/** Notifies the user while the page is hidden. */
export function WatchedSessionNotifier() {
  const client = useQueryClient();
  const navigate = useNavigate();
  useEffect(() => {
    const onVisible = () => {
      if (!document.hidden) setTabIcon(ICON);
    };
    document.addEventListener("visibilitychange", onVisible);
    return () => document.removeEventListener("visibilitychange", onVisible);
  }, []);
  useChannel("sessions", (message) => {
    const hasEnded = message.type === "session.completed";
    if (!hasEnded && !(message.type === "session.status" && message.status === "waiting")) return;
    const { session_id: sessionId, status } = message;
    const label = statusLabel({ status, verdict: hasEnded ? (message.verdict ?? null) : null });
    if (!isIn(stored(), sessionId)) return;
    if (hasEnded) setWatched(sessionId, false);
    if (!document.hidden) return;
    setTabIcon(MARKED_ICON);
    void client
      .query({ ...sessionDetail(sessionId), staleTime: "static" })
      .then(({ title }) => title, () => "A session")
      .then((title) => notify(`${label}: ${title}`, sessionId, () => void navigate({ to: "/sessions/$sessionId", params: { sessionId } })));
  });
  return null;
}

export function notify(text: string, tag: string, onOpen: () => void): void {
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  try {
    // The tag makes the browser show one notification for several tabs.
    const notification = new Notification(text, { tag, icon: ICON });
    notification.onclick = () => {
      window.focus();
      onOpen();
      notification.close();
    };
  } catch {
    // Chrome for Android shows notifications of service workers only.
  }
}
