/** The header, banners and dialogs around every page. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import IconButton from "@mui/material/IconButton";
import Tooltip from "@mui/material/Tooltip";
import { useColorScheme } from "@mui/material/styles";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Outlet } from "@tanstack/react-router";
import { Activity, BookOpen, LogOut, Moon, Plus, Search, Sun, User } from "lucide-react";
import { useEffect, useState } from "react";
import { logout, me } from "@/api/system";
import { BareLink, LinkButton } from "@/components/links";
import { clearDrafts } from "@/components/draft";
import { ONE_LINE } from "@/components/text-styles";
import { Allowed } from "@/presentation/allowed";
import { WatchedSessionNotifier } from "@/presentation/watched-sessions";
import { ApprovalsLink } from "./approvals-link";
import { ConnectionBanner, PauseBanner, VersionBanner, WarningBanner } from "./banners";
import type { OpenDialog } from "./shortcuts";
import { PALETTE_KEYS, Shortcuts } from "./shortcuts";

const NAV = {
  color: "text.secondary",
  textDecoration: "none",
  fontWeight: 600,
  fontSize: { xs: "0.82rem", md: "0.9rem" },
  px: { xs: 0.6, md: 1 },
  py: 0.5,
  borderRadius: 1,
  "&:hover": { color: "text.primary" },
  "&[data-status=active]": { color: "text.primary", bgcolor: "action.selected" },
} as const;

/** Moves the focus without a change of the address, which would be one more step for the back button. */
function skip(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

export function Shell() {
  const [open, setOpen] = useState<OpenDialog>(null);
  return (
    <>
      <Box component="a" href="#content" onClick={skip} sx={{ position: "absolute", left: -9999, "&:focus": { left: 8, top: 8, zIndex: 10, bgcolor: "background.paper", p: 1 } }}>
        Skip to the content
      </Box>
      <Box component="header" sx={{ displayPrint: "none", borderBottom: 1, borderColor: "divider", bgcolor: "background.paper" }}>
        <Box component="nav" aria-label="Main" sx={{ display: "flex", flexWrap: { xs: "wrap", sm: "nowrap" }, alignItems: "center", columnGap: { xs: 0.5, sm: 1 }, px: { xs: 1.5, sm: 3 }, py: { xs: 0.75, sm: 0 }, minHeight: 52, maxWidth: 1680, mx: "auto" }}>
          <BareLink to="/" search={{}} aria-label="TARSy" sx={{ display: "inline-flex", alignItems: "center", gap: 0.75, fontWeight: 700, fontSize: "1.05rem", color: "text.primary", textDecoration: "none", mr: { xs: 0.5, sm: 2 } }}>
            <Box component="span" sx={{ color: "primary.main", display: "inline-flex" }}>
              <Activity size={20} aria-hidden />
            </Box>
            TARSy
          </BareLink>
          {/* On a phone the links are on a line of their own. */}
          <Box sx={{ display: "flex", flexWrap: "wrap", minWidth: 0, columnGap: { xs: 0.25, md: 1 }, order: { xs: 1, sm: 0 }, width: { xs: "100%", sm: "auto" }, ml: { xs: -0.6, sm: 0 }, mt: { xs: 0.5, sm: 0 } }}>
            <BareLink to="/incidents" search={{}} activeOptions={{ includeSearch: false }} sx={NAV}>
              Incidents
            </BareLink>
            <BareLink to="/sessions" search={{}} activeOptions={{ includeSearch: false }} sx={NAV}>
              Sessions
            </BareLink>
            <ApprovalsLink sx={NAV} />
            <BareLink to="/reviews" sx={NAV}>
              Reviews
            </BareLink>
            <BareLink to="/usage" sx={NAV}>
              Usage
            </BareLink>
            <BareLink to="/system" sx={NAV}>
              System
            </BareLink>
          </Box>
          <Box sx={{ flex: 1 }} />
          <Allowed operation="submitAlert">
            <LinkButton to="/alerts/new" variant="contained" size="small" aria-label="New alert" sx={{ whiteSpace: "nowrap", flexShrink: 0, minWidth: 0, gap: 1 }}>
              <Plus size={16} aria-hidden />
              <Box component="span" sx={{ display: { xs: "none", md: "inline" } }}>
                New alert
              </Box>
            </LinkButton>
          </Allowed>
          <Tooltip title={`Go to anything (${PALETTE_KEYS.join(" ")})`}>
            <IconButton size="small" aria-label="Go to anything" aria-keyshortcuts="Control+K Meta+K" onClick={() => setOpen("palette")}>
              <Search size={18} />
            </IconButton>
          </Tooltip>
          <Tooltip title="Manual">
            <IconButton size="small" aria-label="Manual" href="/help/">
              <BookOpen size={18} />
            </IconButton>
          </Tooltip>
          <ThemeToggle />
          <Account />
        </Box>
      </Box>
      <Shortcuts open={open} onOpen={setOpen} />
      <WatchedSessionNotifier />
      <ConnectionBanner />
      <VersionBanner />
      <PauseBanner />
      <WarningBanner />
      <Box component="main" id="content" tabIndex={-1} sx={{ maxWidth: 1680, mx: "auto", px: { xs: 1.5, sm: 3 }, py: 2, outline: "none" }}>
        <Outlet />
      </Box>
    </>
  );
}

/** Paper is light: the dark theme prints as the light one. */
function usePrintedInLight(): void {
  useEffect(() => {
    const root = document.documentElement;
    const shown = root.dataset["theme"];
    const before = () => void (root.dataset["theme"] = "light");
    const after = () => void (root.dataset["theme"] = shown);
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    return () => {
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("afterprint", after);
    };
  });
}

function ThemeToggle() {
  const { mode, systemMode, setMode } = useColorScheme();
  const dark = (mode === "system" ? systemMode : mode) === "dark";
  usePrintedInLight();
  // The manual has no scripts: the server reads the theme of its pages from here.
  useEffect(() => void (document.cookie = `theme=${dark ? "dark" : "light"}; path=/help; max-age=31536000; samesite=lax`), [dark]);
  const label = dark ? "Switch to the light theme" : "Switch to the dark theme";
  return (
    <Tooltip title={label}>
      <IconButton size="small" aria-label={label} onClick={() => setMode(dark ? "light" : "dark")}>
        {dark ? <Sun size={18} /> : <Moon size={18} />}
      </IconButton>
    </Tooltip>
  );
}

/** Who is logged in, and the way out. */
function Account() {
  const { data } = useQuery(me);
  // A reload drops cached data and the live connection, which was opened under the old login.
  const { mutate, isError } = useMutation({
    mutationFn: logout,
    onSuccess: (provider) => {
      clearDrafts();
      if (provider) window.location.assign(provider.continue_at);
      else window.location.reload();
    },
  });
  if (!data?.author || data.identified_by === "open") return null;
  return (
    <>
      <Tooltip title={`You are ${data.author}${data.role ? `, ${data.role}` : ""}`}>
        <Box component="span" sx={{ ...ONE_LINE, display: { xs: "none", md: "inline-flex" }, alignItems: "center", gap: 0.5, maxWidth: 160, color: "text.secondary", fontSize: "0.85rem" }}>
          <User size={15} aria-hidden />
          {data.author}
          {data.role && ` (${data.role})`}
        </Box>
      </Tooltip>
      {(data.identified_by === "cookie" || data.identified_by === "oidc") && (
        <Button
          size="small"
          color={isError ? "error" : "inherit"}
          startIcon={<LogOut size={15} />}
          aria-label={isError ? "Not logged out, try again" : `Log out ${data.author}`}
          onClick={() => mutate()}
          sx={{ whiteSpace: "nowrap", flexShrink: 0 }}
        >
          {isError ? "Not logged out, try again" : "Log out"}
        </Button>
      )}
    </>
  );
}
