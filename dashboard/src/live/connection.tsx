/** The page's one socket, for whoever needs it below. */
import type { ReactNode } from "react";
import { createContext, useContext, useEffect, useSyncExternalStore } from "react";
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
