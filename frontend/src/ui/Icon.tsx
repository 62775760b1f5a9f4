// The icons: 16 px, drawn with a 1.5 px line in the ink of the words beside them.

const PATHS = {
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  plus: "M8 3v10M3 8h10",
  copy: "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
  redo: "M12.7 6.5A5 5 0 1 0 13 9M13 3v3.5H9.5",
  wire: "M2 8h2l1.5-4 2.5 8 2.5-6 1 2H14",
  sliders: "M2.5 5h6M11.5 5h2M2.5 11h2M7.5 11h6M10 3.5v3M6 9.5v3",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M12.6 3.4l-.7.7M4.1 11.9l-.7.7",
  check: "M3 8.5l3.2 3L13 4.5",
  down: "M8 3v10M4 9l4 4 4-4",
  up: "M8 13V3M4 7l4-4 4 4",
  chev: "M4.5 6.5L8 10l3.5-3.5",
  x: "M4 4l8 8M12 4l-8 8",
  cut: "M1.5 8H5.5M10.5 8h4M5.8 11.5l1.6-7M8.6 11.5l1.6-7",
  alert: "M8 5v3.5M8 11v.01M8 1.8l6.4 11.4H1.6z",
  clock: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 4.8V8l2.2 1.6",
  edit: "M3 13l.6-2.8L10.8 3l2.2 2.2-7.2 7.2zM9.5 4.3l2.2 2.2",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  find: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3l3.2 3.2",
  save: "M8 2.5v7M5 7l3 3 3-3M3 13h10",
  join: "M2 8h3.5M10.5 8H14M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z",
  play: "M5 3.5v9l7-4.5z",
  info: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 7.5V11M8 5v.01",
  trash: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.5 8.5h6l.5-8.5",
} as const;

export type IconName = keyof typeof PATHS;

/** Always beside words or inside a labelled control, so hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="i" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
