/** Lets in who may come in: every visitor, or those who have logged in. */
import Box from "@mui/material/Box";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useState } from "react";
import { me } from "@/api/account";
import { Failure, Loading } from "@/components/states";
import { LoginPage } from "@/features/login/login-page";

export function Gate({ children }: { children: ReactNode }) {
  const { data, error, refetch } = useQuery(me);
  const [wasIn, setWasIn] = useState(false);
  const isIn = data !== undefined && !(data.login_required && data.author === null);
  if (isIn && !wasIn) setWasIn(true);
  if (data) {
    return (
      <>
        {!isIn && (
          <Box sx={{ position: "fixed", inset: 0, zIndex: "modal", bgcolor: "background.default", overflow: "auto" }}>
            <LoginPage />
          </Box>
        )}
        {/* A login that runs out must not take along what the reader has just written. */}
        {(isIn || wasIn) && <div inert={!isIn}>{children}</div>}
      </>
    );
  }
  return (
    <Box component="main" sx={{ p: 2 }}>
      {error ? <Failure what="TARSy does not answer." error={error} onRetry={() => void refetch()} /> : <Loading what="TARSy" />}
    </Box>
  );
}
