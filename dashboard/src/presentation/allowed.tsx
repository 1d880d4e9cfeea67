/** A control that is disabled, with the reason as its tooltip, if the role of the person does not allow its operation. */
import Tooltip from "@mui/material/Tooltip";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { cloneElement } from "react";
import { me } from "@/api/system";
import type { Operation } from "@/wire/types";

export function Allowed({ operation, children }: { operation: Operation; children: ReactElement<{ disabled?: boolean }> }) {
  const needed = useQuery(me).data?.denied[operation];
  if (needed === undefined) return children;
  return (
    <Tooltip title={`This needs the role ${needed}.`}>
      <span>{cloneElement(children, { disabled: true })}</span>
    </Tooltip>
  );
}
