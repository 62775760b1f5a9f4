// The thread follows its end while the reader is there. Scrolling up, selecting or going into the text lets go, and
// nothing moves any more under the reader's eyes.

import { type RefObject, useCallback, useEffect, useRef, useState } from "react";

const NEAR_PX = 48;
/** Scroll positions are rounded. */
const SLACK_PX = 2;

export interface Stick {
  readonly scroll: RefObject<HTMLDivElement | null>;
  readonly content: RefObject<HTMLDivElement | null>;
  readonly isStuck: boolean;
  /** Goes to the end and stays there. */
  readonly stick: () => void;
}

export function useStick(): Stick {
  const scroll = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [isStuck, setStuck] = useState(true);
  const stuck = useRef(true);
  const set = useCallback((value: boolean) => {
    stuck.current = value;
    if (scroll.current) scroll.current.dataset.stuck = String(value);
    setStuck(value);
  }, []);
  const stick = useCallback(() => {
    set(true);
    toEnd(scroll.current);
  }, [set]);
  useEffect(() => {
    if (!scroll.current || !content.current) return;
    set(true);
    return follow(scroll.current, content.current, stuck, set);
  }, [set]);
  return { scroll, content, isStuck, stick };
}

function follow(
  box: HTMLDivElement,
  content: HTMLDivElement,
  stuck: RefObject<boolean>,
  set: (value: boolean) => void,
): () => void {
  let top = box.scrollTop;
  const onScroll = () => {
    const wentUp = box.scrollTop < top - SLACK_PX;
    const below = box.scrollHeight - box.clientHeight - box.scrollTop;
    top = box.scrollTop;
    // What became shorter moves the end to the reader: that is no scrolling up.
    if (wentUp && below > SLACK_PX) set(false);
    else if (below <= NEAR_PX && !stuck.current && !wentUp) set(true);
  };
  const letGo = () => stuck.current && isScrollable(box) && set(false);
  const onSelect = () => {
    const selection = document.getSelection();
    if (selection && !selection.isCollapsed && box.contains(selection.anchorNode)) letGo();
  };
  const sizes = new ResizeObserver(() => stuck.current && toEnd(box));
  sizes.observe(content);
  sizes.observe(box);
  box.addEventListener("scroll", onScroll, { passive: true });
  content.addEventListener("focusin", letGo);
  document.addEventListener("selectionchange", onSelect);
  toEnd(box);
  return () => {
    sizes.disconnect();
    box.removeEventListener("scroll", onScroll);
    content.removeEventListener("focusin", letGo);
    document.removeEventListener("selectionchange", onSelect);
  };
}

function toEnd(box: HTMLElement | null): void {
  if (box) box.scrollTop = box.scrollHeight;
}

function isScrollable(box: HTMLElement): boolean {
  return box.scrollHeight > box.clientHeight;
}
