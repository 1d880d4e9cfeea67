/** Where questions are asked: beside the analysis where there is room, over it where there is none. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Drawer from "@mui/material/Drawer";
import IconButton from "@mui/material/IconButton";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { MessageCircleQuestionMark, X } from "lucide-react";
import type { ReactNode } from "react";
import { useId, useLayoutEffect, useRef, useState } from "react";

const TITLE = "Follow-up";
// A button and a little room around it.
const BAR_PX = 56;

// Below the session's header once that sticks, and above the edge of the window.
const TOP_PX = 64;
const EDGE_PX = 16;
// Less would hide what is being answered; then the column may reach below the fold.
const LEAST_PX = 320;

/** A column that ends where the window does, wherever it begins: what is asked and answered in it must not lie below the fold. */
export function BesideColumn({ children }: { children: ReactNode }) {
  const column = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const fit = () => {
      const box = column.current;
      if (!box) return;
      const top = Math.max(TOP_PX, box.getBoundingClientRect().top);
      box.style.height = `${Math.max(LEAST_PX, window.innerHeight - top - EDGE_PX)}px`;
    };
    fit();
    // What stands above it comes and goes: banners, facts, stages.
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

/** It takes the height that its column has left, and scrolls by itself. */
export function ChatAside({ children }: { children: ReactNode }) {
  const label = useId();
  return (
    <Paper component="section" aria-labelledby={label} variant="outlined" sx={{ display: "flex", flexDirection: "column", flex: 1, minHeight: 0, overflow: "hidden" }}>
      <Head label={label} />
      {children}
    </Paper>
  );
}

/** `aside`: something that it would cover is being looked at; it comes back afterwards. */
export function ChatSheet({ aside, children }: { aside: boolean; children: ReactNode }) {
  const label = useId();
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <>
      {/* A bar of its own, with room for it below the page: a button over the text would hide others of the page. */}
      <Box sx={{ height: BAR_PX - 16 }} />
      <Box sx={{ position: "fixed", left: 0, right: 0, bottom: 0, height: BAR_PX, zIndex: 5, display: "flex", alignItems: "center", justifyContent: "flex-end", px: 2, bgcolor: "background.paper", borderTop: 1, borderColor: "divider" }}>
        <Button variant="contained" startIcon={<MessageCircleQuestionMark size={18} />} onClick={() => setOpen(true)} sx={{ borderRadius: 6 }}>
          Ask
        </Button>
      </Box>
      {/* Kept while it is closed: a question half written must not be lost. */}
      <Drawer
        open={open && !aside}
        keepMounted
        anchor="bottom"
        onClose={close}
        slotProps={{ paper: { "aria-labelledby": label, role: "dialog", sx: { height: "85dvh", borderTopLeftRadius: 12, borderTopRightRadius: 12, display: "flex", flexDirection: "column" } } }}
      >
        <Head label={label} onClose={close} />
        {children}
      </Drawer>
    </>
  );
}

function Head({ label, onClose }: { label: string; onClose?: () => void }) {
  return (
    <Stack direction="row" sx={{ alignItems: "center", px: 2, py: 1, borderBottom: 1, borderColor: "divider", minHeight: 45 }}>
      <Typography id={label} variant="h2" sx={{ flex: 1 }}>
        {TITLE}
      </Typography>
      {onClose && (
        <IconButton size="small" aria-label="Close" onClick={onClose}>
          <X size={18} />
        </IconButton>
      )}
    </Stack>
  );
}
