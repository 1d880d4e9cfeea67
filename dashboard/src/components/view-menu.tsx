/** The columns of a list, and saved views: search parameters with a name, stored in the browser. */
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
import { readStored, writeStored } from "./storage";

interface ColumnsMenuProps<Id extends string> {
  columns: readonly { id: Id; label: string }[];
  chosen: readonly Id[];
  onChosen: (chosen: Id[]) => void;
}

export function ColumnsMenu<Id extends string>({ columns, chosen, onChosen }: ColumnsMenuProps<Id>) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const toggle = (id: Id) => onChosen(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id]);
  return (
    <>
      <Button size="small" color="inherit" startIcon={<Columns3 size={15} />} aria-haspopup="menu" onClick={(event) => setAnchor(event.currentTarget)} sx={{ display: { xs: "none", md: "inline-flex" } }}>
        Columns
      </Button>
      <Menu anchorEl={anchor} open={anchor !== null} onClose={() => setAnchor(null)}>
        {columns.map(({ id, label }) => (
          <MenuItem key={id} dense role="menuitemcheckbox" aria-checked={chosen.includes(id)} disabled={chosen.length === 1 && chosen.includes(id)} onClick={() => toggle(id)}>
            {/* No checkbox: the menu item is the control. */}
            <Check size={15} aria-hidden style={{ marginRight: 8, visibility: chosen.includes(id) ? "visible" : "hidden" }} />
            {label}
          </MenuItem>
        ))}
      </Menu>
    </>
  );
}

interface ViewsMenuProps<Search extends object> {
  /** Each list has views of its own. */
  list: string;
  search: Search;
  read: ReadSearch<Search>;
  onChange: (search: Search) => void;
}

export function ViewsMenu<Search extends object>({ list, search, read, onChange }: ViewsMenuProps<Search>) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const [name, setName] = useState("");
  const { views, save, remove } = useSavedViews(`${list}:views`, read);
  const close = () => setAnchor(null);
  const isFull = views.length >= MAX_VIEWS && !views.some((view) => view.name === name.trim());
  return (
    <>
      <Button size="small" color="inherit" startIcon={<Star size={15} />} aria-haspopup="dialog" onClick={(event) => setAnchor(event.currentTarget)}>
        Views
      </Button>
      {/* A popover instead of a menu, in which fields and buttons cannot be reached by keyboard. */}
      <Popover anchorEl={anchor} open={anchor !== null} onClose={close} anchorOrigin={{ vertical: "bottom", horizontal: "left" }} slotProps={{ paper: { role: "dialog", "aria-label": "Views", sx: { pt: 1 } } }}>
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
                  onChange(view.search);
                }}
                sx={{ flex: 1, justifyContent: "flex-start", textAlign: "left", px: 2 }}
              >
                {view.name}
              </Button>
              <IconButton size="small" aria-label={`Delete ${view.name}`} onClick={() => remove(view.name)}>
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
            if (name.trim() === "" || isFull) return;
            save(name.trim(), search);
            setName("");
          }}
        >
          <TextField size="small" value={name} onChange={(event) => setName(event.target.value)} placeholder="Name this view" slotProps={{ htmlInput: { "aria-label": "Name this view", maxLength: 60 } }} />
          <Button type="submit" size="small" disabled={name.trim() === "" || isFull}>
            Save
          </Button>
        </Stack>
        {isFull && (
          <Typography variant="caption" color="textSecondary" component="p" role="status" sx={{ px: 2, pb: 1 }}>
            {MAX_VIEWS} views are saved: delete one to save another.
          </Typography>
        )}
      </Popover>
    </>
  );
}

/** Reads search parameters, and skips unknown ones. */
type ReadSearch<Search> = (raw: Record<string, unknown>) => Search;

interface SavedView<Search> {
  name: string;
  search: Search;
}

const MAX_VIEWS = 30;

/** Reads the stored views and skips anything else. */
export function readViews<Search extends object>(text: string | null, read: ReadSearch<Search>): SavedView<Search>[] {
  try {
    const found: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(found) ? found.filter(isView).map(({ name, search }) => ({ name, search: read({ ...search }) })) : [];
  } catch {
    return [];
  }
}

function isView(value: unknown): value is SavedView<object> {
  return typeof value === "object" && value !== null && "name" in value && typeof value.name === "string" && "search" in value && typeof value.search === "object" && value.search !== null;
}

/** Adds a view without its page number, and replaces one of the same name. */
export function withView<Search extends object>(views: readonly SavedView<Search>[], name: string, search: Search, read: ReadSearch<Search>): SavedView<Search>[] {
  return [...views.filter((view) => view.name !== name), { name, search: read({ ...search, page: undefined }) }];
}

function useSavedViews<Search extends object>(key: string, read: ReadSearch<Search>) {
  // Read again before each change: another tab may have saved a view.
  const stored = () => readViews(readStored("localStorage", key), read);
  const [views, setViews] = useState(stored);
  const store = (next: SavedView<Search>[]) => {
    writeStored("localStorage", key, JSON.stringify(next));
    setViews(next);
  };
  return {
    views,
    save: (name: string, search: Search) => store(withView(stored(), name, search, read)),
    remove: (name: string) => store(stored().filter((view) => view.name !== name)),
  };
}
