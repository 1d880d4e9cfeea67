/** Lets in who may come in: everybody, or those who have logged in. */
import Box from "@mui/material/Box";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { me } from "@/api/account";
import { Failure, Loading } from "@/components/states";
import { LoginPage } from "@/features/login/login-page";

export function Gate({ children }: { children: ReactNode }) {
  const { data, error, refetch } = useQuery(me);
  if (data?.login_required && data.author === null) return <LoginPage />;
  if (data) return children;
  return (
    <Box component="main" sx={{ p: 2 }}>
      {error ? <Failure what="TARSy does not answer." error={error} onRetry={() => void refetch()} /> : <Loading what="TARSy" />}
    </Box>
  );
}
