// Widths at which the layout changes its nature, not only its measures.

import { useCallback, useSyncExternalStore } from "react";

/** From here on the settings lie in the panel's place, and nothing is covered. */
export const WIDE = "(min-width: 1280px)";
/** From here on the list of conversations has its own column. */
export const LISTED = "(min-width: 900px)";

export function useMedia(query: string): boolean {
  const subscribe = useCallback(
    (listener: () => void) => {
      const media = matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    [query],
  );
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches);
}
