/** The layout of follow-up questions: a column beside the analysis on a wide screen, a drawer on a small one. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import IconButton from "@mui/material/IconButton";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { MessageCircleQuestionMark, X } from "lucide-react";
import type { ReactNode } from "react";
import { useId, useLayoutEffect, useRef, useState } from "react";
import { BottomDrawer } from "@/components/bottom-drawer";
import { SESSION_HEADER_PX } from "@/components/page";

// The height of the bar with the button that opens the drawer.
const BAR_PX = 56;
const MARGIN_PX = 16;
// A lower column would not show an answer; it may extend below the window instead.
const LEAST_PX = 320;

/** A column that ends at the bottom of the window, so that the chat in it is always visible. */
export function WindowHeightColumn({ children }: { children: ReactNode }) {
  const column = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const fit = () => {
      const box = column.current;
      if (!box) return;
      const top = Math.max(SESSION_HEADER_PX, box.getBoundingClientRect().top);
      box.style.height = `${Math.max(LEAST_PX, window.innerHeight - top - MARGIN_PX)}px`;
    };
    fit();
    // Banners and other content above the column come and go.
    const observer = new ResizeObserver(fit);
    observer.observe(document.body);
    window.addEventListener("scroll", fit, { passive: true });
    window.addEventListener("resize", fit);
    return () => {
      observer.disconnect();
      window.removeEventListener("scroll", fit);
      window.removeEventListener("resize", fit);
    };
  }, []);
  return (
    <Stack ref={column} spacing={2}>
      {children}
    </Stack>
  );
}

/** Fills the rest of its column and scrolls itself. */
export function ChatSidePanel({ children }: { children: ReactNode }) {
  const label = useId();
  return (
    <Paper component="section" aria-labelledby={label} variant="outlined" sx={{ display: "flex", flexDirection: "column", flex: 1, minHeight: 0, overflow: "hidden" }}>
      <ChatHeader label={label} />
      {children}
    </Paper>
  );
}

/** `hidden` while another drawer is open; it is shown again afterwards. */
export function ChatDrawer({ hidden, children }: { hidden: boolean; children: ReactNode }) {
  const label = useId();
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <>
      {/* Keeps the end of the page clear of the bar. */}
      <Box sx={{ height: BAR_PX - 16 }} />
      <Box sx={{ position: "fixed", left: 0, right: 0, bottom: 0, height: BAR_PX, zIndex: 5, display: "flex", alignItems: "center", justifyContent: "flex-end", px: 2, bgcolor: "background.paper", borderTop: 1, borderColor: "divider", displayPrint: "none" }}>
        <Button variant="contained" startIcon={<MessageCircleQuestionMark size={18} />} onClick={() => setOpen(true)} sx={{ borderRadius: 6 }}>
          Ask
        </Button>
      </Box>
      {/* Kept mounted: it may hold unsent text. */}
      <BottomDrawer open={open && !hidden} keepMounted labelledBy={label} onClose={close}>
        <ChatHeader label={label} onClose={close} />
        {children}
      </BottomDrawer>
    </>
  );
}

function ChatHeader({ label, onClose }: { label: string; onClose?: () => void }) {
  return (
    <Stack direction="row" sx={{ alignItems: "center", px: 2, py: 1, borderBottom: 1, borderColor: "divider", minHeight: 45 }}>
      <Typography id={label} variant="h2" sx={{ flex: 1 }}>
        Follow-up
      </Typography>
      {onClose && (
        <IconButton size="small" aria-label="Close" onClick={onClose}>
          <X size={18} />
        </IconButton>
      )}
    </Stack>
  );
}
