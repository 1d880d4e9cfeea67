/** Listen to a channel from now on, and hear of every (re)subscription too. */
import { useEffect, useEffectEvent } from "react";
import type { LiveMessage } from "@/wire/live-messages";
import { useSocket } from "./connection";

export function useChannel(name: string, heard: (message: LiveMessage) => void): void {
  const socket = useSocket();
  const onHeard = useEffectEvent(heard);
  useEffect(() => socket.watch(name, (message) => onHeard(message)), [socket, name]);
}
