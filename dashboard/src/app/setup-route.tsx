import { getRouteApi } from "@tanstack/react-router";
import { SetupPage } from "@/features/setup/setup-page";
import { readStep } from "@/features/setup/steps";

const route = getRouteApi("/setup");

export function SetupRoute() {
  const { step } = route.useSearch();
  const navigate = route.useNavigate();
  return <SetupPage step={readStep(step)} onStep={(next) => void navigate({ search: { step: next } })} />;
}
