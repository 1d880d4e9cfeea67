import { describe, expect, test } from "vitest";
import { incidentFilterOf, labelsOf, readIncidentSearch, withoutFilters } from "./search";

describe("the filters of the incident list", () => {
  test("an address without filters asks for what is open", () => {
    expect(readIncidentSearch({})).toEqual({});
    expect(incidentFilterOf({})).toEqual({ sort: "severity", state: ["open"] });
  });

  test("what an address says is read, and what makes no sense is left out", () => {
    const raw = { state: "closed", severity: "awful", source: " grafana ", label: "a=1, nonsense,b=x=y", since: "1y", other: "x" };
    expect(readIncidentSearch(raw)).toEqual({ source: "grafana", label: "a=1,b=x=y" });
  });

  test("a severity stands for itself and all that is worse", () => {
    expect(incidentFilterOf({ severity: "warning" }).severity).toEqual(["critical", "high", "warning"]);
    expect(incidentFilterOf({ severity: "critical" }).severity).toEqual(["critical"]);
  });

  test("all states, labels and a time are asked for as the API wants them", () => {
    const filter = incidentFilterOf({ state: "all", label: "cluster=eu1,app=cart", since: "24h", text: "disk" }, "2026-02-28T12:00:00.000Z");
    expect(filter).toEqual({ sort: "severity", label: ["cluster=eu1", "app=cart"], text: "disk", from: "2026-02-28T12:00:00.000Z" });
    expect(incidentFilterOf({ state: "resolved" }).state).toEqual(["resolved"]);
  });

  test("a verdict is asked for, and only one that there is", () => {
    expect(readIncidentSearch({ verdict: "fault" })).toEqual({ verdict: "fault" });
    expect(incidentFilterOf({ verdict: "fault" })).toEqual({ sort: "severity", state: ["open"], verdict: ["fault"] });
    expect(readIncidentSearch({ verdict: "guilty" })).toEqual({});
  });

  test("the order and the columns are in the address, and stay when the filters are cleared", () => {
    const search = readIncidentSearch({ by: "opened", show: "age,cost,nonsense", text: "disk" });
    expect(search).toEqual({ by: "opened", show: "cost,age", text: "disk" });
    expect(incidentFilterOf(search).sort).toBe("opened");
    expect(withoutFilters(search)).toEqual({ by: "opened", show: "cost,age" });
    expect(readIncidentSearch({ by: "nonsense", show: "verdict,alerts,state,age" })).toEqual({});
  });

  test("a label has a name", () => {
    expect(labelsOf("=x,a=,b")).toEqual(["a="]);
  });
});
