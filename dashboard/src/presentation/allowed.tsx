/** A control that is disabled, with the reason as its tooltip, if the role of the person does not allow its operation. */
import Tooltip from "@mui/material/Tooltip";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { cloneElement } from "react";
import { me } from "@/api/system";
import type { Operation } from "@/wire/types";

export function Allowed({ operation, children }: { operation: Operation; children: ReactElement<{ disabled?: boolean }> }) {
  const denial = useDenial(operation);
  if (denial === null) return children;
  // The keyboard cannot reach a disabled control, but the frame, which shows the reason.
  return (
    <Tooltip title={denial} enterTouchDelay={0}>
      <span role="group" tabIndex={0}>
        {cloneElement(children, { disabled: true })}
      </span>
    </Tooltip>
  );
}

/** Why the role of the person does not allow an operation; null if it does. */
export function useDenial(operation: Operation): string | null {
  const needed = useQuery(me).data?.denied[operation];
  return needed === undefined ? null : `This needs the role ${needed}.`;
}
