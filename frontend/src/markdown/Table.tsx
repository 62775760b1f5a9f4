// A table scrolls in its own box. While it grows its columns stand still from the second row on: a longer cell must
// not move what was read.

import { useLayoutEffect, useRef } from "react";

interface Props {
  readonly live: boolean;
  readonly children: React.ReactNode;
}

export function Table({ live, children }: Props) {
  const ref = useRef<HTMLTableElement>(null);
  useLayoutEffect(() => {
    if (live && ref.current && ref.current.rows.length > 3 && !ref.current.style.tableLayout)
      fix(ref.current);
  });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <div className="tbl" tabIndex={0}>
      <table ref={ref}>{children}</table>
    </div>
  );
}

/** By shares, so that another width of the window keeps the proportions. */
function fix(table: HTMLTableElement): void {
  const heads = [...(table.rows[0]?.cells ?? [])];
  const shares = heads.map((head) => (head.offsetWidth / table.offsetWidth) * 100);
  const tooWide = table.offsetWidth > (table.parentElement?.clientWidth ?? 0);
  heads.forEach((head, index) => {
    head.style.width = `${shares[index] ?? 0}%`;
  });
  if (tooWide) table.style.minWidth = `${table.offsetWidth}px`;
  table.style.tableLayout = "fixed";
}
