import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { formatNumber, MetricChart } from "./metric-chart";

test("values are shown with four digits and the prefixes of SI", () => {
  expect([0, 0.00025, 0.54721, 7, 1234.5, -5_000_000, 1.5e9, 2e20].map(formatNumber)).toEqual(["0", "0.00025", "0.5472", "7", "1.234 k", "-5 M", "1.5 G", "200000 P"]);
});

test("a result without series has no chart, one with too many says what is left out", () => {
  const { rerender } = render(<MetricChart text="No metrics are collected." />);
  expect(screen.queryByRole("figure")).toBeNull();
  const many = Array.from({ length: 14 }, (_, pod) => ({ metric: { __name__: "up", pod: `cart-${pod}` }, values: [[1_617_898_400, "1"]] }));
  rerender(<MetricChart text={JSON.stringify(many)} />);
  screen.getByRole("figure", { name: "up" });
  screen.getByText("times in UTC; 2 more series in the result");
});

test("numbers that are no times in seconds are not drawn, however large they are", () => {
  render(<MetricChart text={JSON.stringify([{ metric: { __name__: "up" }, values: [[1_617_898_400_000_000_000, "1"]] }])} />);
  expect(screen.queryByRole("figure")).toBeNull();
});
