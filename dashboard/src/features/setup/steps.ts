/** Pure module: the steps of setting up, in their order. */
import type { SetupState } from "@/wire/types";

export const STEPS = [
  { name: "model", title: "Choose a model" },
  { name: "tools", title: "Connect your systems" },
  { name: "sample", title: "Run a sample" },
  { name: "alert", title: "Send a first alert" },
] as const;

export type Step = (typeof STEPS)[number]["name"];

export function readStep(raw: unknown): Step {
  return STEPS.find((step) => step.name === raw)?.name ?? "model";
}

export function titleOf(step: Step): string {
  return STEPS.find((one) => one.name === step)?.title ?? "";
}

/** The step after this one; null: it was the last. */
export function after(step: Step): Step | null {
  return STEPS[STEPS.findIndex((one) => one.name === step) + 1]?.name ?? null;
}

/** Whether a step has nothing left to do; a sample and a first alert can be repeated. */
export function isDone(step: Step, { model, recipes }: Pick<SetupState, "model" | "recipes">): boolean {
  if (step === "model") return model !== null;
  return step === "tools" && recipes.some((recipe) => recipe.fields.every((field) => field.is_set));
}

/** What only a person who has the code may do: it writes files on the server. */
export function needsCode(step: Step): boolean {
  return step === "model" || step === "tools";
}
