// The width of a chart's box. Charts are drawn anew at each width, so that their labels stay 12 px high.
import type { RefObject } from "react";
import { useLayoutEffect, useRef, useState } from "react";

/** 0 until it is known; the box must have its height without the chart. */
export function useWidth<T extends HTMLElement>(): [RefObject<T | null>, number] {
  const ref = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return;
    const measure = () => setWidth(Math.floor(box.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}
