/** A dialog that covers most of a small screen from below. */
import type { DrawerProps } from "@mui/material/Drawer";
import Drawer from "@mui/material/Drawer";

type BottomDrawerProps = Pick<DrawerProps, "open" | "keepMounted" | "children"> & { onClose: () => void } & ({ label: string } | { labelledBy: string });

export function BottomDrawer({ open, keepMounted = false, onClose, children, ...name }: BottomDrawerProps) {
  const label = "label" in name ? { "aria-label": name.label } : { "aria-labelledby": name.labelledBy };
  return (
    <Drawer
      open={open ?? false}
      keepMounted={keepMounted}
      anchor="bottom"
      onClose={onClose}
      slotProps={{ paper: { ...label, role: "dialog", sx: { height: "85dvh", borderTopLeftRadius: 12, borderTopRightRadius: 12, display: "flex", flexDirection: "column" } } }}
    >
      {children}
    </Drawer>
  );
}
