import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, expect, test, vi } from "vitest";
import { refetchChanged } from "./refetch";

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

function shown() {
  const client = new QueryClient();
  const answers: ((value: string) => void)[] = [];
  const queryFn = vi.fn(() => new Promise<string>((resolve) => answers.push(resolve)));
  const observer = new QueryObserver(client, { queryKey: ["list", 1], queryFn });
  stops.push(observer.subscribe(() => undefined));
  return { client, answers, queryFn, data: () => observer.getCurrentResult().data };
}

test("an answer that was under way when something changed is not the last word, not even the first one", async () => {
  const { client, answers, queryFn, data } = shown();
  const done = refetchChanged(client, ["list"]);
  expect(queryFn).toHaveBeenCalledTimes(1);
  answers[0]?.("before the change");
  await vi.waitFor(() => expect(queryFn).toHaveBeenCalledTimes(2));
  answers[1]?.("after the change");
  await done;
  expect(data()).toBe("after the change");
});

test("many changes during one slow answer are one more question", async () => {
  const { client, answers, queryFn, data } = shown();
  const all = [1, 2, 3].map(() => refetchChanged(client, ["list"]));
  answers[0]?.("slow");
  await vi.waitFor(() => expect(queryFn).toHaveBeenCalledTimes(2));
  answers[1]?.("last");
  await Promise.all(all);
  expect(queryFn).toHaveBeenCalledTimes(2);
  expect(data()).toBe("last");
});
