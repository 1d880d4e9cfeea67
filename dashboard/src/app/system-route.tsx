export { SystemPage as SystemRoute } from "@/features/system/system-page";
