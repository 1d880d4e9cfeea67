/** The HTTP client, and what an answer that is not a success becomes. */
import createClient from "openapi-fetch";
import { serverTimeIs } from "@/components/now";
import type { paths } from "@/wire/schema";
import type { Problem } from "@/wire/types";

export const api = createClient<paths>({ baseUrl: window.location.origin });

api.use({
  onResponse: ({ response }) => serverTimeIs(Date.parse(response.headers.get("date") ?? "")),
  // That is what browsers throw when they get no answer.
  onError: ({ error }) => (error instanceof TypeError ? new Error("The server cannot be reached.", { cause: error }) : undefined),
});

/** The server refused, and says why in words for a person. */
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

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The data of a successful answer. Throws `ApiError` for any other. */
export async function expectData<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (response.ok) return data as T;
  throw new ApiError(response.status, isProblem(error) ? error : null);
}

function isProblem(value: unknown): value is Problem {
  return typeof value === "object" && value !== null && "detail" in value && typeof value.detail === "string";
}

/** Whether the server says that there is no such thing, or that the id cannot be one of any. */
export function isMissing(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 404 || error.status === 400);
}

/** Whether asking again may help: it does not where the server has understood and refused. Where nothing answers, the page says so soon:
 * everything is asked for again when the live connection is back. */
export function worthRetrying(failures: number, error: unknown): boolean {
  if (!(error instanceof ApiError)) return failures < 1;
  return failures < 3 && error.status >= 500;
}
