/** The page's one socket, for the components below. */
import type { ReactNode } from "react";
import { createContext, useContext, useEffect, useEffectEvent, useSyncExternalStore } from "react";
import type { LiveMessage } from "@/wire/live-messages";
import type { ConnectionState, LiveSocket } from "./socket";

const SocketContext = createContext<LiveSocket | null>(null);

export function liveAddress(location: Location): string {
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`;
}

export function LiveProvider({ socket, children }: { socket: LiveSocket; children: ReactNode }) {
  useEffect(() => {
    const look = () => {
      if (!document.hidden) socket.hurry();
    };
    window.addEventListener("online", socket.hurry);
    document.addEventListener("visibilitychange", look);
    return () => {
      window.removeEventListener("online", socket.hurry);
      document.removeEventListener("visibilitychange", look);
    };
  }, [socket]);
  return <SocketContext value={socket}>{children}</SocketContext>;
}

export function useSocket(): LiveSocket {
  const socket = useContext(SocketContext);
  if (!socket) throw new Error("There is no LiveProvider above this component.");
  return socket;
}

export function useConnectionState(): ConnectionState {
  const socket = useSocket();
  return useSyncExternalStore(socket.observe, socket.state);
}

/** Listen to a channel from now on, and hear of every (re)subscription too. */
export function useChannel(name: string, heard: (message: LiveMessage) => void): void {
  const socket = useSocket();
  const onHeard = useEffectEvent(heard);
  useEffect(() => socket.watch(name, (message) => onHeard(message)), [socket, name]);
}
