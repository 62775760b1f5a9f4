// Whether a media query holds, for what CSS alone cannot decide.
import { useSyncExternalStore } from "react";

/** Detail beside the frames; below, it is a sheet. */
export const WIDE = "(min-width: 1100px)";
/** Rows of two lines. */
export const PHONE = "(max-width: 719px)";

export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => matchMedia(query).matches,
  );
}
