/** The LiveSocket of the page, for components. */
import type { ReactNode } from "react";
import { createContext, useContext, useEffect, useEffectEvent, useSyncExternalStore } from "react";
import type { LiveMessage } from "@/wire/live-messages";
import type { ConnectionState, LiveSocket } from "./socket";

const SocketContext = createContext<LiveSocket | null>(null);

export function LiveProvider({ socket, children }: { socket: LiveSocket; children: ReactNode }) {
  useEffect(() => {
    const onVisible = () => {
      if (!document.hidden) socket.checkNow();
    };
    window.addEventListener("online", socket.checkNow);
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      window.removeEventListener("online", socket.checkNow);
      document.removeEventListener("visibilitychange", onVisible);
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

/** Subscribes to a channel from now on. A confirmation is delivered when the channel's first listener subscribes and after each reconnect; later listeners get none. */
export function useChannel(name: string, onMessage: (message: LiveMessage) => void): void {
  const socket = useSocket();
  const handle = useEffectEvent(onMessage);
  useEffect(() => socket.subscribe(name, (message) => handle(message)), [socket, name]);
}
