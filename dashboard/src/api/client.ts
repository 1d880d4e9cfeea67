/** The HTTP client and its errors. */
import createClient from "openapi-fetch";
import { syncServerTime } from "@/components/times";
import type { paths } from "@/wire/schema";
import type { Problem } from "@/wire/types";

export const api = createClient<paths>({ baseUrl: window.location.origin });

api.use({
  onResponse: ({ response }) => syncServerTime(Date.parse(response.headers.get("date") ?? "")),
  // Browsers throw a TypeError when there is no response.
  onError: ({ error }) => (error instanceof TypeError ? new Error("The server cannot be reached.", { cause: error }) : undefined),
});

/** The server rejected a request; the message is its explanation for a person. */
export class ApiError extends Error {
  readonly status: number;
  readonly problem: Problem | null;

  constructor(status: number, problem: Problem | null) {
    super(problem?.detail ?? `The server answered with status ${status}.`);
    this.name = "ApiError";
    this.status = status;
    this.problem = problem;
  }
}

interface ApiResult<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Returns the data of a successful response. Throws `ApiError` for any other. */
export async function expectData<T>(result: Promise<ApiResult<T>>): Promise<T> {
  const { data, error, response } = await result;
  if (response.ok) return data as T;
  const isProblem = typeof error === "object" && error !== null && "detail" in error && typeof error.detail === "string";
  throw new ApiError(response.status, isProblem ? (error as Problem) : null);
}

/** Whether the server knows nothing of that id, or rejects it as malformed. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 404 || error.status === 400);
}

/** Whether to retry a query: not where the server has rejected it. Without a response it is retried once only, so that the page reports the
 * failure soon; all queries are refetched when the live connection is back. */
export function shouldRetry(failures: number, error: unknown): boolean {
  if (!(error instanceof ApiError)) return failures < 1;
  return failures < 3 && error.status >= 500;
}
