// What is drawn from a stream need not be drawn with each frame.
import { useEffect, useRef, useState } from "react";
import { afterFrame } from "../app/frames";

/** Charts and figures are drawn at most ten times a second. */
export const REDRAW_MS = 100;

/** `value`, at most every REDRAW_MS; the newest always arrives. */
export function useSlowly<T>(value: T): T {
  const [shown, setShown] = useState(value);
  const newest = useRef(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  newest.current = value;
  useEffect(() => {
    if (Object.is(shown, value) || timer.current !== undefined) return;
    const show = () => {
      timer.current = undefined;
      setShown(newest.current);
    };
    timer.current = setTimeout(() => afterFrame(show), REDRAW_MS);
  }, [value, shown]);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );
  return shown;
}
