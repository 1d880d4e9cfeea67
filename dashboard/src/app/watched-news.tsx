/** Tells a reader who looks elsewhere that a session which they watch has ended or waits: by the browser, and by a mark on the tab. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { sessionDetail } from "@/api/sessions";
import { isWatched, watch } from "@/components/watched";
import { useChannel } from "@/live/connection";
import { SESSION_FACES } from "@/presentation/statuses";
import type { LiveMessage } from "@/wire/live-messages";
import type { SessionStatus } from "@/wire/types";

const ICON = "/icon.svg";
const ICON_WITH_NEWS = "/icon-news.svg";

/** The session that a message is news of, and what it says; null for what a reader need not be called for. */
export function newsOf(message: LiveMessage): { id: string; status: SessionStatus; over: boolean } | null {
  if (message.type === "session.completed") return { id: message.session_id, status: message.status, over: true };
  if (message.type === "session.status" && message.status === "waiting") return { id: message.session_id, status: message.status, over: false };
  return null;
}

export function WatchedNews() {
  const client = useQueryClient();
  const navigate = useNavigate();
  useClearedMark();
  useChannel("sessions", (message) => {
    const news = newsOf(message);
    if (!news || !isWatched(news.id)) return;
    if (news.over) watch(news.id, false);
    if (!document.hidden) return;
    setMark(ICON_WITH_NEWS);
    void client
      .query({ ...sessionDetail(news.id), staleTime: "static" })
      .then(({ title }) => title, () => "A session")
      .then((title) => notify(`${SESSION_FACES[news.status].label}: ${title}`, news.id, () => void navigate({ to: "/sessions/$sessionId", params: { sessionId: news.id } })));
  });
  return null;
}

function notify(text: string, tag: string, onOpen: () => void): void {
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  // With the session as its tag: two tabs tell of it once.
  const shown = new Notification(text, { tag, icon: ICON });
  shown.onclick = () => {
    window.focus();
    onOpen();
    shown.close();
  };
}

function setMark(icon: string): void {
  document.querySelector<HTMLLinkElement>("link[rel=icon]")?.setAttribute("href", icon);
}

/** The mark goes when the page is looked at. */
function useClearedMark(): void {
  useEffect(() => {
    const look = () => {
      if (!document.hidden) setMark(ICON);
    };
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
}
