// Whole seconds until a time, counted down.

import { useEffect, useState } from "react";

/** `at`: milliseconds since 1970; null is now. */
export function useSeconds(at: number | null): number {
  const [left, setLeft] = useState(() => secondsTo(at));
  useEffect(() => {
    if (at === null) return;
    setLeft(secondsTo(at));
    const timer = setInterval(() => setLeft(secondsTo(at)), 250);
    return () => clearInterval(timer);
  }, [at]);
  return at === null ? 0 : left;
}

function secondsTo(at: number | null): number {
  return at === null ? 0 : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
