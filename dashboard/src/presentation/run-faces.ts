/** The looks of stages and agents. */
import { createContext } from "react";
import { RUN_FACES, SESSION_FACES } from "./statuses";

/** While the session itself waits: what it had begun does not run. */
export const RESTING_FACES: typeof RUN_FACES = { ...RUN_FACES, active: SESSION_FACES.waiting };

export const RunFacesContext = createContext(RUN_FACES);
