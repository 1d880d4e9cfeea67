/** Parts of the application that are loaded when they are first needed, and what it means that one cannot be. */

/** A part could not be loaded: the server is away, or has another version by now. */
export class PartAwayError extends Error {
  constructor(cause: unknown) {
    super("This part of the page could not be loaded.", { cause });
    this.name = "PartAwayError";
  }
}

/** The same import; where it fails, under a name by which the page knows what to do. */
export function loadedLater<T>(load: () => Promise<T>): () => Promise<T> {
  return () =>
    load().catch((error: unknown) => {
      throw new PartAwayError(error);
    });
}
