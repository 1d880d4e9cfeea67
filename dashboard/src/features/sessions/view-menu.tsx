/** How the list looks: its columns, and views that were saved under a name. A view is an address, so it can be sent as well. */
import Button from "@mui/material/Button";
import Checkbox from "@mui/material/Checkbox";
import Divider from "@mui/material/Divider";
import IconButton from "@mui/material/IconButton";
import ListItemText from "@mui/material/ListItemText";
import ListSubheader from "@mui/material/ListSubheader";
import Menu from "@mui/material/Menu";
import MenuItem from "@mui/material/MenuItem";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import { Columns3, Star, Trash2 } from "lucide-react";
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
            <Checkbox size="small" checked={chosen.includes(id)} tabIndex={-1} disableRipple aria-hidden sx={{ p: 0, mr: 1 }} slotProps={{ input: { "aria-hidden": true, tabIndex: -1 } }} />
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
      <Menu anchorEl={place} open={place !== null} onClose={close} variant="menu">
        <ListSubheader sx={{ lineHeight: 2.2 }}>{views.length > 0 ? "Saved in this browser" : "No saved views yet"}</ListSubheader>
        {views.map((view) => (
          <MenuItem
            key={view.name}
            dense
            onClick={() => {
              close();
              onChange(readSearch({ ...view.search }));
            }}
          >
            <ListItemText>{view.name}</ListItemText>
            <IconButton
              size="small"
              aria-label={`Forget ${view.name}`}
              onClick={(event) => {
                event.stopPropagation();
                forget(view.name);
              }}
            >
              <Trash2 size={14} />
            </IconButton>
          </MenuItem>
        ))}
        <Divider />
        <Stack
          component="form"
          direction="row"
          sx={{ gap: 1, px: 2, py: 1 }}
          onKeyDown={(event) => event.stopPropagation()}
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
      </Menu>
    </>
  );
}
