export { UsagePage as UsageRoute } from "@/features/usage/usage-page";
