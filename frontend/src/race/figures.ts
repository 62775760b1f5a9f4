// How figures are written: whole milliseconds, rates with a decimal only where it says something.

/** null stays null: what is not known is not written. */
export function whole(value: number | null | undefined): string | null {
  return value === null || value === undefined ? null : Math.round(value).toLocaleString("en");
}

export function decimal(value: number | null | undefined): string | null {
  if (value === null || value === undefined) return null;
  return value < 10 ? value.toFixed(1) : whole(value);
}
