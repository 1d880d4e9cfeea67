/** Configuration as people write it. Loaded late: the YAML library is large. */
import { useMemo } from "react";
import { stringify } from "yaml";
import { DataView } from "@/components/data-view";

export default function YamlView({ value, label }: { value: unknown; label: string }) {
  const text = useMemo(() => stringify(value, { lineWidth: 120 }), [value]);
  return <DataView text={text} label={label} maxHeight={560} />;
}
