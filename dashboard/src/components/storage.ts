/** The storage of the browser. Where it is blocked or full, nothing is found in it, and values are lost. */

type Storage = "localStorage" | "sessionStorage";

export function readStored(storage: Storage, key: string): string | null {
  try {
    return window[storage].getItem(key);
  } catch {
    return null;
  }
}

/** Stores the value, or removes it if it is null. */
export function writeStored(storage: Storage, key: string, value: string | null): void {
  try {
    if (value === null) window[storage].removeItem(key);
    else window[storage].setItem(key, value);
  } catch {
    // The value is lost.
  }
}

export function storedKeys(storage: Storage): string[] {
  try {
    return Object.keys(window[storage]);
  } catch {
    return [];
  }
}
