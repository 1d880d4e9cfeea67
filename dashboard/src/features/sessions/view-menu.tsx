/** How the list looks: its columns, and views that were saved under a name. A view is an address, so it can be sent as well. */
import Button from "@mui/material/Button";
import Divider from "@mui/material/Divider";
import IconButton from "@mui/material/IconButton";
import Menu from "@mui/material/Menu";
import MenuItem from "@mui/material/MenuItem";
import Popover from "@mui/material/Popover";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { Check, Columns3, Star, Trash2 } from "lucide-react";
import { useState } from "react";
import type { ColumnId } from "./columns";
import { chosenColumns, COLUMNS, joinedColumns } from "./columns";
import { useSavedViews } from "./saved-views";
import type { SessionSearch } from "./search";
import { readSearch } from "./search";

interface ViewMenuProps {
  search: SessionSearch;
  onChange: (search: SessionSearch) => void;
}

export function ColumnsMenu({ search, onChange }: ViewMenuProps) {
  const [place, setPlace] = useState<HTMLElement | null>(null);
  const chosen = chosenColumns(search.columns);
  const toggle = (id: ColumnId) => {
    const next = chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id];
    onChange(readSearch({ ...search, columns: joinedColumns(next) }));
  };
  return (
    <>
      <Button size="small" color="inherit" startIcon={<Columns3 size={15} />} aria-haspopup="menu" onClick={(event) => setPlace(event.currentTarget)} sx={{ display: { xs: "none", md: "inline-flex" } }}>
        Columns
      </Button>
      <Menu anchorEl={place} open={place !== null} onClose={() => setPlace(null)}>
        {COLUMNS.map(({ id, label }) => (
          <MenuItem key={id} dense role="menuitemcheckbox" aria-checked={chosen.includes(id)} disabled={chosen.length === 1 && chosen.includes(id)} onClick={() => toggle(id)}>
            {/* No field: a menu's entry is one itself. */}
            <Check size={15} aria-hidden style={{ marginRight: 8, visibility: chosen.includes(id) ? "visible" : "hidden" }} />
            {label}
          </MenuItem>
        ))}
      </Menu>
    </>
  );
}

export function ViewsMenu({ search, onChange }: ViewMenuProps) {
  const [place, setPlace] = useState<HTMLElement | null>(null);
  const [name, setName] = useState("");
  const { views, save, forget } = useSavedViews();
  const close = () => setPlace(null);
  return (
    <>
      <Button size="small" color="inherit" startIcon={<Star size={15} />} aria-haspopup="dialog" onClick={(event) => setPlace(event.currentTarget)}>
        Views
      </Button>
      {/* No menu: it has a field to write in, and buttons beside the names, which the keyboard must reach. */}
      <Popover anchorEl={place} open={place !== null} onClose={close} anchorOrigin={{ vertical: "bottom", horizontal: "left" }} slotProps={{ paper: { role: "dialog", "aria-label": "Views", sx: { pt: 1 } } }}>
        <Typography variant="caption" color="textSecondary" component="p" sx={{ px: 2 }}>
          {views.length > 0 ? "Saved in this browser" : "No saved views yet"}
        </Typography>
        <Stack component="ul" aria-label="Saved views" sx={{ listStyle: "none", m: 0, p: 0 }}>
          {views.map((view) => (
            <Stack component="li" direction="row" key={view.name} sx={{ alignItems: "center", pr: 1 }}>
              <Button
                color="inherit"
                onClick={() => {
                  close();
                  onChange(readSearch({ ...view.search }));
                }}
                sx={{ flex: 1, justifyContent: "flex-start", textAlign: "left", px: 2 }}
              >
                {view.name}
              </Button>
              <IconButton size="small" aria-label={`Forget ${view.name}`} onClick={() => forget(view.name)}>
                <Trash2 size={14} />
              </IconButton>
            </Stack>
          ))}
        </Stack>
        <Divider />
        <Stack
          component="form"
          direction="row"
          sx={{ gap: 1, px: 2, py: 1 }}
          onSubmit={(event) => {
            event.preventDefault();
            if (name.trim() === "") return;
            save(name.trim(), search);
            setName("");
          }}
        >
          <TextField size="small" value={name} onChange={(event) => setName(event.target.value)} placeholder="Name this view" slotProps={{ htmlInput: { "aria-label": "Name this view", maxLength: 60 } }} />
          <Button type="submit" size="small" disabled={name.trim() === ""}>
            Save
          </Button>
        </Stack>
      </Popover>
    </>
  );
}
